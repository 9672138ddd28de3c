import { createHash } from 'node:crypto'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { serviceUnavailable } from '../errors.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { commonPasswordError, type PasswordPolicy, requirePassword } from './password-policy.ts'

export interface NewPasswordRules extends BreachLookup {
  readonly config: BreachLookup['config'] & { readonly passwords: { readonly policy: PasswordPolicy } }
}

/**
 * Checks and hashes a new password. The caller must not hold a lock, because hashing is slow and the list of breached passwords
 * is requested over the network.
 */
export async function hashNewPassword(
  deps: NewPasswordRules & { readonly passwords: Pick<PasswordHasher, 'hash'> },
  password: string,
): Promise<string> {
  await requireNewPassword(deps, password)
  return deps.passwords.hash(password)
}

/** Requires a new password to meet the policy and not to be a breached one (reference: Password policy). */
export async function requireNewPassword(deps: NewPasswordRules, password: string): Promise<void> {
  requirePassword(deps.config.passwords.policy, password)
  await refuseBreached(deps, password)
}

const RANGES = 'https://api.pwnedpasswords.com/range/'
const PREFIX_LENGTH = 5
const TIMEOUT_MS = 5_000

export interface BreachLookup {
  readonly config: { readonly passwords: { readonly breaches: BreachRules | undefined } }
  readonly outbound: Outbound
  readonly logger: ServiceLogger['logger']
}

/** How breached passwords are looked up, or `undefined` if they are not. */
export interface BreachRules {
  readonly userAgent: string
  /** Whether passwords are rejected while the list is unavailable. */
  readonly failsClosed: boolean
}

/** Rejects a breached password, if the settings require this check. The caller must not hold a lock. */
export async function refuseBreached({ config, outbound, logger }: BreachLookup, password: string): Promise<void> {
  const { breaches } = config.passwords
  if (!breaches) return
  const isKnown = await isBreached(outbound, breaches.userAgent, password).catch((error) => {
    if (breaches.failsClosed) throw serviceUnavailable({ cause: error })
    logger.warn({ err: error }, 'a password was not looked up among the breached ones')
    return false
  })
  if (isKnown) throw commonPasswordError()
}

/**
 * Returns whether Have I Been Pwned lists a password. The list receives only 5 of the 40 digits of the password's SHA-1. It
 * answers with the rest of each matching digest, and with padding entries, whose count is 0.
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
