import { isCheckout } from '@trestle/common/config/advice-for-missing.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'

/**
 * Names the PostgreSQL server that does not answer and the command that starts it, or the `sslmode` that it needs. Returns
 * `undefined` for other errors. Commands connect to no other server themselves.
 * @param program the name of the program, such as `auth`
 */
export function describeOutage(error: unknown, program: string): string | undefined {
  const address = findSilentAddress(error)
  if (address === undefined) {
    const encryption = describeEncryption(error)
    return encryption === undefined ? undefined : printable(encryption)
  }
  const doctor = `${program} doctor`
  const advice = isCheckout()
    ? `npm start starts the one of this checkout, and ${doctor} checks any other`
    : `${doctor} says what to start`
  return printable(`PostgreSQL does not answer at ${address}; ${advice}`)
}

/** Returns the address at which a connection was refused. If a local server does not run, its socket file is missing (ENOENT). */
function findSilentAddress(error: unknown): string | undefined {
  if (error instanceof AggregateError) return findSilentAddress(error.errors[0])
  if (!(error instanceof Error)) return undefined
  if (!('address' in error && 'code' in error)) return findSilentAddress(error.cause)
  if (error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT') return undefined
  if (!('port' in error)) return String(error.address)
  const host = String(error.address)
  return `${host.includes(':') ? `[${host}]` : host}:${error.port}`
}

/** The codes of Node.js for untrusted certificates. */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
])
const NO_VERIFY = 'write sslmode=no-verify into the URL of the database, which encrypts and does not verify the server'

/**
 * Describes a mismatch between the URL of a database and the encryption of its server. `sslmode` differs from libpq here:
 * `require` and `prefer` verify the certificate, and without `sslmode` nothing is encrypted.
 * @returns `undefined` for other errors
 */
export function describeEncryption(error: unknown): string | undefined {
  if (error instanceof AggregateError) return describeEncryption(error.errors[0])
  if (!(error instanceof Error)) return undefined
  const { message, cause } = error
  const code = 'code' in error ? error.code : undefined
  if (UNTRUSTED.has(code))
    return `PostgreSQL has a certificate that is not trusted (${code}): ${NO_VERIFY}, as libpq does at sslmode=require, or name its certificate by sslrootcert=<file>`
  if (code === '28000' && message.includes('no encryption'))
    return `${message}: ${NO_VERIFY}, as libpq does by itself where a server wants encryption`
  if (message === 'The server does not support SSL connections')
    return 'PostgreSQL does not encrypt connections: leave sslmode out of the URL of the database'
  return cause === undefined ? undefined : describeEncryption(cause)
}
