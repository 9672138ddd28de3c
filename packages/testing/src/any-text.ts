import fc from 'fast-check'

/**
 * Text of any characters there are. As `fc.string({ unit: 'binary' })`, which keeps a map of all 1.1 million of them (118 MiB)
 * from then on; strings that are known to be trouble come from `fc.string()`.
 */
export const anyText = (constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string(constraints),
    fc.array(fc.nat(0x10_ffff), constraints).map((points) => String.fromCodePoint(...points).toWellFormed()),
  )
