import { createHash } from 'node:crypto'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import type { AuthDeps } from '../deps.ts'
import { serviceUnavailable } from '../errors.ts'
import { EASY_TO_GUESS } from './password-policy.ts'
import { refuseWeak } from './require-password.ts'

const RANGES = 'https://api.pwnedpasswords.com/range/'
const PREFIX_LENGTH = 5
const TIMEOUT_MS = 5_000

/**
 * Refuses a password that is known from breaches, where that is asked for. Nothing is locked meanwhile.
 * @throws weakPassword; serviceUnavailable when the list is away and nobody may go without it
 */
export async function refuseBreached(
  { config, outbound, logger }: Pick<AuthDeps, 'config' | 'outbound' | 'logger'>,
  password: string,
): Promise<void> {
  const { breaches } = config.passwords
  if (!breaches) return
  const isKnown = await isBreached(outbound, breaches.userAgent, password).catch((error) => {
    if (breaches.failsClosed) throw serviceUnavailable({ cause: error })
    logger.warn({ err: error }, 'a password was not looked up among the breached ones')
    return false
  })
  if (isKnown) throw refuseWeak(EASY_TO_GUESS)
}

/**
 * Whether Have I Been Pwned lists a password. Of its SHA-1 the list is told 5 digits of 40, and answers the rest of all that
 * begin so, padded with some that count for nothing.
 */
async function isBreached(outbound: Outbound, userAgent: string, password: string): Promise<boolean> {
  const digest = createHash('sha1').update(password).digest('hex').toUpperCase()
  const { status, body } = await outbound.send({
    method: 'GET',
    url: RANGES + digest.slice(0, PREFIX_LENGTH),
    headers: { 'user-agent': userAgent, 'add-padding': 'true' },
    timeoutMs: TIMEOUT_MS,
    origin: 'operator',
  })
  if (status !== 200) throw new Error(`the list of breached passwords answered ${status}`)
  const rest = digest.slice(PREFIX_LENGTH)
  return body.split('\n').some((line) => {
    const [suffix, count = '0'] = line.trim().split(':')
    return suffix === rest && count !== '0'
  })
}
