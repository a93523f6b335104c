"""Statement of the accepted contract version to an agent, outside observations."""

ACCEPTED_CONTRACT = "1.1"
"""The latest contract version with decisions that the harness accepts (`contract/README.md`, section 5)."""

CONTRACT_VARIABLE = "OPENOUTCRY_CONTRACT"
"""Environment variable of a program that states it."""

CONTRACT_HEADER = "openoutcry-contract"
"""Header of a request that states it."""
