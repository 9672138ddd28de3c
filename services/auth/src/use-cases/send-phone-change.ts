import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { queueSms } from '../messages/sms-job.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-repository.ts'
import { issueSmsCode, type SmsCode } from './issue-sms-code.ts'

export interface PhoneChangeMessage extends Pick<SmsCode, 'channel' | 'messageId'> {
  readonly newPhone: string
  /** Whether the message of a change goes out once more: it is no younger for that. */
  readonly isAgain?: boolean
}

/**
 * Makes a change of phone pending, or a pending one once more, and asks the new number to confirm it
 * (reference: Change of phone).
 * @param user locked @returns whether an SMS is sent: none goes to a phone of SMS_TEST_OTP
 */
export async function sendPhoneChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { newPhone, isAgain = false, ...message }: PhoneChangeMessage,
): Promise<boolean> {
  const at = deps.now()
  await updateUser(trx, user.id, {
    phone_change: newPhone,
    phone_change_sent_at: at,
    ...(isAgain ? {} : { phone_change_asked_at: at }),
    updated_at: at,
  })
  const sms = await issueSmsCode(trx, deps, { user, phone: newPhone, tokenKind: 'phone_change', ...message })
  if (sms) await queueSms(trx, deps, user.isAnonymous ? { ...sms, onlyIfFree: true } : sms)
  return sms !== undefined
}
