import type { SmsConfig } from '../config/sms.ts'

/** The test code of a phone (SMS_TEST_OTP); undefined for a phone that has none, and once test codes have expired. */
export function findTestCode(
  { testCodes, testCodesValidUntil }: Pick<SmsConfig, 'testCodes' | 'testCodesValidUntil'>,
  phone: string,
  now: Date,
): string | undefined {
  const isOver = testCodesValidUntil !== undefined && testCodesValidUntil <= now
  return isOver ? undefined : testCodes.get(phone)
}
