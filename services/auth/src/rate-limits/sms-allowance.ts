import type { AuthDeps } from '../deps.ts'
import { smsProviderMissing } from '../errors.ts'
import { findTestCode } from '../sms/test-code.ts'
import { type Allowance, NOTHING_TAKEN } from './rate-limits.ts'

/**
 * Counts an SMS before anything is done for it (contract 7.12). A phone of SMS_TEST_OTP needs neither gateway nor allowance.
 * @throws smsProviderMissing, overSmsRateLimit
 */
export async function takeSms(
  { config, hooks, now, rateLimits, sms }: Pick<AuthDeps, 'config' | 'hooks' | 'now' | 'rateLimits' | 'sms'>,
  phone: string,
): Promise<Allowance> {
  if (findTestCode(config.sms, phone, now()) !== undefined) return NOTHING_TAKEN
  if (!sms && !hooks.isOn('SEND_SMS')) throw smsProviderMissing()
  return rateLimits.sms.take()
}
