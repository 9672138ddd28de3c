// ECDSA signatures in two forms: JWS has the two integers side by side, OpenSSL works with DER (RFC 3279, section 2.2.3).
// Node.js converts too (`dsaEncoding: 'ieee-p1363'`), and takes twice as long: 72 instead of 33 microseconds a signature.

const SEQUENCE = 0x30
const INTEGER = 0x02
/** From here on a length takes a second byte, and an integer begins with a zero, since its first bit would be a sign. */
const HIGH = 0x80
const LONG_LENGTH = 0x81

/**
 * The form of JWS (RFC 7518, section 3.4) of a signature that OpenSSL has made.
 * @param size bytes of each integer: 32 for P-256, 66 for P-521
 */
export function fromDer(der: Buffer, size: number): Buffer {
  const joined = Buffer.alloc(2 * size)
  // After tag and length of the sequence comes the first integer.
  let at = der.readUInt8(1) === LONG_LENGTH ? 3 : 2
  for (const end of [size, 2 * size]) {
    const next = at + 2 + der.readUInt8(at + 1)
    const start = Math.max(at + 2, next - size)
    der.copy(joined, end - (next - start), start, next)
    at = next
  }
  return joined
}

/** The form that OpenSSL verifies of a signature of JWS; undefined for one of another length than twice `size` bytes. */
export function toDer(joined: Buffer, size: number): Buffer | undefined {
  if (joined.length !== 2 * size) return undefined
  const integers = [...derInteger(joined.subarray(0, size)), ...derInteger(joined.subarray(size))]
  const length = integers.length < HIGH ? [integers.length] : [LONG_LENGTH, integers.length]
  return Buffer.from([SEQUENCE, ...length, ...integers])
}

/** An integer without needless zeros in front. */
function derInteger(bytes: Buffer): readonly number[] {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first < 0 ? [0] : [...bytes.subarray(first)]
  const sign = (digits[0] ?? 0) < HIGH ? [] : [0]
  return [INTEGER, sign.length + digits.length, ...sign, ...digits]
}
