import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { text, url } from '@trestle/common/config/setting.ts'

/** Settings of what the service sends by itself. */
export const messageSettings = {
  SMTP_URL: url('smtp', 'smtps').meta({ secret: true }).optional(),
  MAIL_FROM: text().optional(),
} as const

type Values = SettingValues<typeof messageSettings>

/** What is wrong with the settings together. */
export function messageProblems({ SMTP_URL, MAIL_FROM }: Values, prefix: string): readonly string[] {
  return SMTP_URL !== undefined && MAIL_FROM === undefined
    ? [`${prefix}MAIL_FROM is required when ${prefix}SMTP_URL is set`]
    : []
}

export function toMessageConfig({ SMTP_URL, MAIL_FROM }: Values) {
  return {
    /** Undefined: mails wait in the queue. */
    smtp: SMTP_URL === undefined || MAIL_FROM === undefined ? undefined : { url: SMTP_URL, from: MAIL_FROM },
  } as const
}
