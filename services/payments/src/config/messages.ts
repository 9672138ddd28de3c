import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, flag, secret, text, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { greetingName } from '@trestle/common/outbound/smtp.ts'

export const messageSettings = group('Mails and webhooks', {
  SMTP_URL: secret(url('smtp', 'smtps'))
    .optional()
    .describe(
      'Mail server, as `smtp://user:password@host:port`. smtps:// is TLS from the start. It is greeted with the host of `PAYMENTS_BASE_URL`, or with `?name=`. Without a server, mails wait.',
    ),
  SMTP_REQUIRE_TLS: flag()
    .prefault('false')
    .describe('Send mails by TLS only. A server that offers no TLS then gets none.'),
  MAIL_FROM: text().optional().describe('Sender of mails. Required with `PAYMENTS_SMTP_URL`.'),
  WEBHOOK_ALLOW_HTTP: flag().prefault('false').describe('Send events of test merchants to http:// addresses too.'),
  WEBHOOK_ALLOWED_HOSTS: commaList()
    .default([])
    .describe(
      'Hosts, addresses and networks inside your own network that events may be sent to. A name that only the hosts file or a search domain knows must be listed itself.',
    ),
})

type MessageValues = SettingValues<typeof messageSettings>

export const messageRules: readonly Rule<Pick<MessageValues, 'SMTP_URL' | 'MAIL_FROM'>>[] = [
  ({ SMTP_URL, MAIL_FROM }) =>
    SMTP_URL !== undefined && MAIL_FROM === undefined
      ? 'PAYMENTS_MAIL_FROM is required when PAYMENTS_SMTP_URL is set'
      : undefined,
]

export interface MessageConfig {
  /** `undefined` if no mail server is set. Mails then wait in the queue. */
  readonly smtp:
    | {
        readonly url: string
        readonly from: string
        readonly requireTls: boolean
        readonly greetingName: string
      }
    | undefined
  readonly webhooks: {
    /** Whether webhooks of test merchants may use plain HTTP. */
    readonly allowHttp: boolean
    /** Internal hosts, addresses and networks of the operator to which webhooks may lead. */
    readonly allowedHosts: readonly string[]
  }
}

export function toMessageConfig({
  SMTP_URL,
  SMTP_REQUIRE_TLS,
  MAIL_FROM,
  BASE_URL,
  ...values
}: MessageValues & { readonly BASE_URL: string }): MessageConfig {
  return {
    smtp:
      SMTP_URL === undefined || MAIL_FROM === undefined
        ? undefined
        : { url: SMTP_URL, from: MAIL_FROM, requireTls: SMTP_REQUIRE_TLS, greetingName: greetingName(BASE_URL) },
    webhooks: {
      allowHttp: values.WEBHOOK_ALLOW_HTTP,
      allowedHosts: values.WEBHOOK_ALLOWED_HOSTS,
    },
  } as const
}
