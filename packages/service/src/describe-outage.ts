import { isCheckout } from '@trestle/common/config/advice-for-missing.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { describeEncryption } from './describe-encryption.ts'

/**
 * Says which PostgreSQL does not answer, and which command starts it, or which `sslmode` it needs. Undefined
 * for other errors: commands connect to no other server by themselves.
 * @param program its name, as in `auth`
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

/**
 * Returns the address at which a connection was refused. The socket file of a server on this machine is missing when it does
 * not run.
 */
function findSilentAddress(error: unknown): string | undefined {
  if (error instanceof AggregateError) return findSilentAddress(error.errors[0])
  if (!(error instanceof Error)) return undefined
  if (!('address' in error && 'code' in error)) return findSilentAddress(error.cause)
  if (error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT') return undefined
  if (!('port' in error)) return String(error.address)
  const host = String(error.address)
  return `${host.includes(':') ? `[${host}]` : host}:${error.port}`
}
