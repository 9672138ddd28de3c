import type { AuthConfig } from '../config.ts'
import { smsProviderMissing } from '../errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { type Allowance, NOTHING_TAKEN, type RateLimits } from '../rate-limits/rate-limits.ts'
import type { SmsGateway } from './sms-gateway.ts'
import { findTestCode } from './test-code.ts'

interface CountDeps {
  readonly config: Pick<AuthConfig, 'sms'>
  readonly now: () => Date
  readonly rateLimits: Pick<RateLimits, 'sms'>
}

/** The dependencies of a counted SMS. The hook SEND_SMS takes the place of a gateway. */
export interface SmsAllowanceDeps extends CountDeps {
  readonly hooks: Hooks
  /** Undefined where no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/**
 * Counts an SMS before anything else is done for it (reference: Message limits). A test phone needs neither a gateway nor an
 * allowance.
 * @param limitKey the key of the client's limits
 * @throws smsProviderMissing, overSmsRateLimit
 */
export async function takeSms(deps: SmsAllowanceDeps, phone: string, limitKey: string | undefined): Promise<Allowance> {
  if (isTestPhone(deps, phone)) return NOTHING_TAKEN
  if (!deps.sms && !deps.hooks.isOn('SEND_SMS')) throw smsProviderMissing()
  return deps.rateLimits.sms.take(limitKey)
}

/** Counts an SMS that may turn out to have no recipient. @throws overSmsRateLimit */
export async function countSms(deps: CountDeps, phone: string, limitKey: string | undefined): Promise<Allowance> {
  return isTestPhone(deps, phone) ? NOTHING_TAKEN : deps.rateLimits.sms.take(limitKey)
}

function isTestPhone({ config, now }: CountDeps, phone: string): boolean {
  return findTestCode(config.sms, phone, now()) !== undefined
}
