import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, flag, text, url } from '@trestle/common/config/setting.ts'

/** Settings of what the service sends by itself. */
export const messageSettings = {
  SMTP_URL: url('smtp', 'smtps').meta({ secret: true }).optional(),
  SMTP_REQUIRE_TLS: flag().default(false),
  MAIL_FROM: text().optional(),
  WEBHOOK_ALLOW_HTTP: flag().default(false),
  WEBHOOK_ALLOWED_HOSTS: commaList().default([]),
} as const

type Values = SettingValues<typeof messageSettings>

export const messageRules: readonly Rule<Pick<Values, 'SMTP_URL' | 'MAIL_FROM'>>[] = [
  ({ SMTP_URL, MAIL_FROM }) =>
    SMTP_URL !== undefined && MAIL_FROM === undefined
      ? 'PAYMENTS_MAIL_FROM is required when PAYMENTS_SMTP_URL is set'
      : undefined,
]

export function toMessageConfig({ SMTP_URL, SMTP_REQUIRE_TLS, MAIL_FROM, ...values }: Values) {
  return {
    /** Undefined: mails wait in the queue. */
    smtp:
      SMTP_URL === undefined || MAIL_FROM === undefined
        ? undefined
        : { url: SMTP_URL, from: MAIL_FROM, requireTls: SMTP_REQUIRE_TLS },
    webhooks: {
      /** For test merchants. */
      allowHttp: values.WEBHOOK_ALLOW_HTTP,
      /** Hosts, addresses and networks inside the own network that events may be sent to. */
      allowedHosts: values.WEBHOOK_ALLOWED_HOSTS,
    },
  } as const
}
