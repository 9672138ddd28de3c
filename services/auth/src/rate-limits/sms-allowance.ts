import type { AuthDeps } from '../deps.ts'
import { smsProviderMissing } from '../errors.ts'
import { findTestCode } from '../messages/test-code.ts'
import { type Allowance, NOTHING_TAKEN } from './rate-limits.ts'

type Deps = Pick<AuthDeps, 'config' | 'hooks' | 'now' | 'rateLimits' | 'sms'>

/**
 * Counts an SMS before anything is done for it (reference: Message limits). A phone of SMS_TEST_OTP needs neither
 * gateway nor allowance.
 * @param client key of who asks
 * @throws smsProviderMissing, overSmsRateLimit
 */
export async function takeSms(deps: Deps, phone: string, client: string | undefined): Promise<Allowance> {
  if (isTestPhone(deps, phone)) return NOTHING_TAKEN
  if (!deps.sms && !deps.hooks.isOn('SEND_SMS')) throw smsProviderMissing()
  return deps.rateLimits.sms.take(client)
}

/** The same for an SMS of which nobody knows yet whether it is sent. @throws overSmsRateLimit */
export async function countSms(deps: Deps, phone: string, client: string | undefined): Promise<Allowance> {
  return isTestPhone(deps, phone) ? NOTHING_TAKEN : deps.rateLimits.sms.take(client)
}

function isTestPhone({ config, now }: Deps, phone: string): boolean {
  return findTestCode(config.sms, phone, now()) !== undefined
}
