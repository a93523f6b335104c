use serde::Deserialize;

/// The harness of an agent that ran as a separate process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Harness {
    /// Whether the agent had network access.
    pub allow_net: bool,
    /// Isolation tier.
    pub tier: Tier,
    /// Transport.
    pub transport: Transport,
}

/// The isolation tier of an agent, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Tier {
    /// A process without isolation.
    T0,
    /// Resource limits, no capabilities and nothing inherited.
    T1,
    /// T1 with Landlock and a system call filter.
    T2,
    /// T2 in separate namespaces.
    T3,
}

/// The transport between harness and agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Standard input and output.
    Stdio,
    /// HTTP.
    Http,
}

impl Harness {
    pub(super) fn fields(self) -> [(&'static str, String); 3] {
        [
            ("harness.allow_net", self.allow_net.to_string()),
            ("harness.tier", self.tier.name().to_owned()),
            ("harness.transport", self.transport.name().to_owned()),
        ]
    }
}

impl Tier {
    /// All tiers, lowest first.
    pub const ALL: [Self; 4] = [Self::T0, Self::T1, Self::T2, Self::T3];

    /// Returns the name of the tier in a record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::T0 => "T0",
            Self::T1 => "T1",
            Self::T2 => "T2",
            Self::T3 => "T3",
        }
    }
}

impl Transport {
    /// All transports.
    pub const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    /// Returns the name of the transport in a record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}
