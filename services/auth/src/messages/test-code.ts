import type { SmsConfig } from '../config/sms.ts'

/** The fixed code of a test phone (SMS_TEST_OTP), to which nothing is sent; undefined for all other phones. */
export function findTestCode(
  { testCodes, testCodesValidUntil }: Pick<SmsConfig, 'testCodes' | 'testCodesValidUntil'>,
  phone: string,
  now: Date,
): string | undefined {
  const isOver = testCodesValidUntil !== undefined && testCodesValidUntil <= now
  return isOver ? undefined : testCodes.get(phone)
}
