//! What the machine at hand can do with vectors.

#[cfg(not(target_family = "wasm"))]
pub(crate) use pulp::Arch;

/// Instructions of one number each, which WebAssembly has everywhere.
///
/// A module of it cannot ask what there is. The `Arch` of `pulp` asks a flag that nobody sets, so that all would be
/// compiled for vectors as well, and nothing of that would run. With vectors alone a module is larger by 30 kB over the
/// wire, and replays faster by a tenth.
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
