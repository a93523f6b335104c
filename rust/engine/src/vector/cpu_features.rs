//! Vector instructions of the CPU, detected at run time.

#[cfg(not(target_family = "wasm"))]
pub(crate) use pulp::Arch;

/// Scalar instructions, the only ones in WebAssembly.
///
/// A WebAssembly module cannot detect CPU features. The `Arch` of `pulp` reads a flag that is never set there, so the
/// vector code would be compiled and never run. A module with vector code only is 30 kB larger over the wire and
/// replays a tenth faster.
#[cfg(target_family = "wasm")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arch;

#[cfg(target_family = "wasm")]
impl Arch {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn dispatch<Op: pulp::WithSimd>(self, work: Op) -> Op::Output {
        pulp::Simd::vectorize(pulp::Scalar, work)
    }
}
