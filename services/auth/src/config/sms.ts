import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { duration, flag, oneOf, parsed, secret, text, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { z } from 'zod'
import { messagebird } from '../messages/gateways/messagebird.ts'
import { textlocal } from '../messages/gateways/textlocal.ts'
import { twilio } from '../messages/gateways/twilio.ts'
import { vonage } from '../messages/gateways/vonage.ts'
import { parseOr, type Template } from '../messages/mail-template.ts'
import type { GatewayProtocol, LibraryGateway } from '../messages/sms-gateway.ts'
import { normalisePhone } from '../requests/fields.ts'
import type { CompatibilityOptions } from './compatibility.ts'
import { codeLength, lifetimeSeconds, messageIntervalMs, templateText } from './rules.ts'

/** The gateways that can send SMS. SMS_PROVIDER selects one (reference: SMS). */
export const SMS_GATEWAYS = ['twilio', 'messagebird', 'textlocal', 'vonage'] as const

/** The name of a gateway, as in AUTH_SMS_PROVIDER. */
export type SmsGatewayName = (typeof SMS_GATEWAYS)[number]

/** The default text of an SMS with a code. */
export const DEFAULT_SMS_TEXT = 'Your code is {{ .Code }}'

const messageSettings = group('SMS', {
  SMS_PROVIDER: oneOf(...SMS_GATEWAYS)
    .optional()
    .describe('Gateway that sends SMS. Default: none; no SMS is sent, unless the hook SEND_SMS is on.'),
  SMS_AUTOCONFIRM: flag().prefault('false').describe('Confirm phones at once, without a code.'),
  SMS_MAX_FREQUENCY: duration().prefault('60s').describe('Least time between two SMS to one phone.'),
  SMS_OTP_EXP: lifetimeSeconds().prefault('60').describe('How long a code lives.'),
  SMS_OTP_LENGTH: codeLength().prefault('6').describe('Digits of a code.'),
  SMS_TEMPLATE: templateText().prefault(DEFAULT_SMS_TEXT).describe('Text of the SMS.'),
  SMS_TEST_OTP: testCodes()
    .default(new Map())
    .describe('Test phones and their test codes. Nothing is sent to these phones.'),
  SMS_TEST_OTP_VALID_UNTIL: rfc3339Time().optional().describe('Until when the test codes work. Default: for ever.'),
})

const gatewaySettings = group(
  {
    title: 'SMS gateways',
    about:
      'The account at the gateway that `AUTH_SMS_PROVIDER` names is required. Addresses are changed for tests and proxies.',
  },
  {
    SMS_TWILIO_ACCOUNT_SID: text().default('').describe('Account at Twilio: a SID that begins with AC.'),
    SMS_TWILIO_AUTH_TOKEN: secret().default('').describe('Auth token of the account at Twilio.'),
    SMS_TWILIO_MESSAGE_SERVICE_SID: text().default('').describe('Messaging service at Twilio that sends.'),
    SMS_TWILIO_CONTENT_SID: text().optional().describe('Content template at Twilio of messages by WhatsApp.'),
    SMS_TWILIO_API_URL: url().prefault('https://api.twilio.com').describe("Address of Twilio's API."),
    SMS_MESSAGEBIRD_ACCESS_KEY: secret().default('').describe('Access key at MessageBird.'),
    SMS_MESSAGEBIRD_ORIGINATOR: text().default('').describe('Sender of SMS by MessageBird.'),
    SMS_MESSAGEBIRD_API_URL: url().prefault('https://rest.messagebird.com').describe("Address of MessageBird's API."),
    SMS_TEXTLOCAL_API_KEY: secret().default('').describe('API key at Textlocal.'),
    SMS_TEXTLOCAL_SENDER: text().default('').describe('Sender of SMS by Textlocal.'),
    SMS_TEXTLOCAL_API_URL: url().prefault('https://api.textlocal.in').describe("Address of Textlocal's API."),
    SMS_VONAGE_API_KEY: text().default('').describe('API key at Vonage.'),
    SMS_VONAGE_API_SECRET: secret().default('').describe('Secret of the API key at Vonage.'),
    SMS_VONAGE_FROM: text().default('').describe('Sender of SMS by Vonage.'),
    SMS_VONAGE_API_URL: url().prefault('https://rest.nexmo.com').describe("Address of Vonage's API."),
  },
)

export const smsSettings = { ...messageSettings, ...gatewaySettings } as const

type SmsValues = SettingValues<typeof smsSettings>

const CREDENTIALS = {
  twilio: ['SMS_TWILIO_ACCOUNT_SID', 'SMS_TWILIO_AUTH_TOKEN', 'SMS_TWILIO_MESSAGE_SERVICE_SID'],
  messagebird: ['SMS_MESSAGEBIRD_ACCESS_KEY', 'SMS_MESSAGEBIRD_ORIGINATOR'],
  textlocal: ['SMS_TEXTLOCAL_API_KEY', 'SMS_TEXTLOCAL_SENDER'],
  vonage: ['SMS_VONAGE_API_KEY', 'SMS_VONAGE_API_SECRET', 'SMS_VONAGE_FROM'],
} as const satisfies Record<SmsGatewayName, readonly (keyof SmsValues)[]>

export interface SmsConfig {
  readonly autoconfirm: boolean
  readonly intervalMs: number
  readonly codeLifetimeSeconds: number
  /** The number of digits. */
  readonly codeLength: number
  readonly template: Template
  /** Test codes by phone number (digits). */
  readonly testCodes: ReadonlyMap<string, string>
  readonly testCodesValidUntil: Date | undefined
  readonly provider: SmsGatewayName | undefined
  /** `undefined` if no gateway is set, or one of its credentials is missing or malformed. */
  readonly gateway: GatewayProtocol | LibraryGateway | undefined
}

export function toSmsConfig(
  values: SmsValues,
  compatibility: Pick<CompatibilityOptions, 'treatZeroFrequencyAsUnset'>,
): SmsConfig {
  return {
    autoconfirm: values.SMS_AUTOCONFIRM,
    intervalMs: messageIntervalMs(values.SMS_MAX_FREQUENCY, compatibility),
    codeLifetimeSeconds: values.SMS_OTP_EXP,
    codeLength: values.SMS_OTP_LENGTH,
    template: parseOr(DEFAULT_SMS_TEXT, values.SMS_TEMPLATE),
    testCodes: values.SMS_TEST_OTP,
    testCodesValidUntil: values.SMS_TEST_OTP_VALID_UNTIL,
    provider: values.SMS_PROVIDER,
    gateway: toGateway(values),
  }
}

function toGateway(values: SmsValues): GatewayProtocol | LibraryGateway | undefined {
  if (values.SMS_PROVIDER === undefined || smsWarnings(values).length > 0) return undefined
  return GATEWAYS[values.SMS_PROVIDER](values)
}

const GATEWAYS: Readonly<Record<SmsGatewayName, (values: SmsValues) => GatewayProtocol | LibraryGateway>> = {
  twilio: (values) =>
    twilio({
      apiUrl: values.SMS_TWILIO_API_URL,
      accountSid: values.SMS_TWILIO_ACCOUNT_SID,
      authToken: values.SMS_TWILIO_AUTH_TOKEN,
      sender: values.SMS_TWILIO_MESSAGE_SERVICE_SID,
      contentSid: values.SMS_TWILIO_CONTENT_SID,
    }),
  messagebird: (values) =>
    messagebird({
      apiUrl: values.SMS_MESSAGEBIRD_API_URL,
      accessKey: values.SMS_MESSAGEBIRD_ACCESS_KEY,
      originator: values.SMS_MESSAGEBIRD_ORIGINATOR,
    }),
  textlocal: (values) =>
    textlocal({
      apiUrl: values.SMS_TEXTLOCAL_API_URL,
      apiKey: values.SMS_TEXTLOCAL_API_KEY,
      sender: values.SMS_TEXTLOCAL_SENDER,
    }),
  vonage: (values) =>
    vonage({
      apiUrl: values.SMS_VONAGE_API_URL,
      apiKey: values.SMS_VONAGE_API_KEY,
      apiSecret: values.SMS_VONAGE_API_SECRET,
      from: values.SMS_VONAGE_FROM,
    }),
}

/** Warns if no SMS can be sent, because the account at the gateway is incomplete or malformed. */
export function smsWarnings(values: SmsValues): string[] {
  const missing = missingCredentials(values)
  if (missing.length > 0) return missing.map((name) => `no SMS can be sent, because AUTH_${name} is not set`)
  if (values.SMS_PROVIDER !== 'twilio' || values.SMS_TWILIO_ACCOUNT_SID.startsWith('AC')) return []
  return ['no SMS can be sent, because AUTH_SMS_TWILIO_ACCOUNT_SID does not begin with AC']
}

function missingCredentials(values: SmsValues): string[] {
  if (values.SMS_PROVIDER === undefined) return []
  return CREDENTIALS[values.SMS_PROVIDER].filter((name) => values[name] === '')
}

function testCodes(): z.ZodType<ReadonlyMap<string, string>, string> {
  const problem = 'must be a list of phone:code'
  return parsed({ form: 'list of `phone:code`', secret: true, problem }, (value) => {
    const codes = new Map<string, string>()
    for (const pair of value.split(',').map((part) => part.trim())) {
      const [phone = '', code = ''] = pair.split(/[:=]/)
      const digits = normalisePhone(phone.trim())
      if (digits !== undefined && /^\d{1,10}$/.test(code.trim())) codes.set(digits, code.trim())
      else if (pair !== '') return undefined
    }
    return codes
  })
}

function rfc3339Time(): z.ZodType<Date, string> {
  return parsed({ form: 'RFC 3339 time', problem: 'must be an RFC 3339 time' }, (value) => {
    const time = z.iso.datetime({ offset: true }).safeParse(value)
    return time.success ? new Date(time.data) : undefined
  })
}
