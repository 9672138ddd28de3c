import fc from 'fast-check'

/**
 * Text of any Unicode characters. `fc.string({ unit: 'binary' })` does the same, but keeps a map of all 1.1 million characters
 * (118 MiB). Strings that are known to cause trouble come from `fc.string()`.
 */
export const anyText = (constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string(constraints),
    fc.array(fc.nat(0x10_ffff), constraints).map((points) => String.fromCodePoint(...points).toWellFormed()),
  )
