import type { SmsConfig } from '../config/sms.ts'

/** The fixed code of a phone that is there for tests (SMS_TEST_OTP), undefined for all others. Nothing is sent to it. */
export function findTestCode(
  { testCodes, testCodesValidUntil }: Pick<SmsConfig, 'testCodes' | 'testCodesValidUntil'>,
  phone: string,
  now: Date,
): string | undefined {
  const isOver = testCodesValidUntil !== undefined && testCodesValidUntil <= now
  return isOver ? undefined : testCodes.get(phone)
}
