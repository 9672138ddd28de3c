/** The codes of Node.js for certificates that it does not trust. */
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
 * Says how the URL of a database gets along with the encryption of its server, where a connection failed for it. The words of
 * `sslmode` have another meaning than in libpq: `require` and `prefer` verify the certificate, and without `sslmode` nothing is
 * encrypted.
 * @returns undefined for other errors
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
