use serde::Deserialize;

/// How an agent was run that was a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Harness {
    /// Whether it could reach a network.
    pub allow_net: bool,
    /// How far it was locked in.
    pub tier: Tier,
    /// How it was spoken to.
    pub transport: Transport,
}

/// How far an agent was locked in, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Tier {
    /// A process like any other.
    T0,
    /// With limits, no capabilities and nothing inherited.
    T1,
    /// As T1, with Landlock and a filter of system calls.
    T2,
    /// As T2, in namespaces of its own.
    T3,
}

/// How an agent was spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// By its standard input and output.
    Stdio,
    /// By HTTP.
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
    /// All tiers, least first.
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
