/** The kinds of mail, each a `<KIND>` of MAILER_SUBJECTS_<KIND> and MAILER_TEMPLATES_<KIND>. */
export const MAIL_KINDS = [
  'INVITE',
  'CONFIRMATION',
  'RECOVERY',
  'MAGIC_LINK',
  'EMAIL_CHANGE',
  'REAUTHENTICATION',
  'PASSWORD_CHANGED_NOTIFICATION',
  'EMAIL_CHANGED_NOTIFICATION',
  'PHONE_CHANGED_NOTIFICATION',
  'IDENTITY_LINKED_NOTIFICATION',
  'IDENTITY_UNLINKED_NOTIFICATION',
  'MFA_FACTOR_ENROLLED_NOTIFICATION',
  'MFA_FACTOR_UNENROLLED_NOTIFICATION',
  'PASSKEY_ADDED_NOTIFICATION',
  'PASSKEY_REMOVED_NOTIFICATION',
  'PASSKEYS_KEPT_NOTIFICATION',
  'RECOVERY_CODES_CREATED_NOTIFICATION',
  'ACCOUNT_SECURED_NOTIFICATION',
] as const

/** A kind of mail. Each has a subject and a body (reference: Mail templates). */
export type MailKind = (typeof MAIL_KINDS)[number]

/** The templates of one mail, in the language of mail-template.ts. */
export interface MailTexts {
  readonly subject: string
  readonly body: string
}

/** The texts where no setting gives a subject, or a template that can be fetched (reference: Mail templates). */
export const DEFAULT_TEXTS: Readonly<Record<MailKind, MailTexts>> = {
  INVITE: {
    subject: "You've been invited",
    body: linkBody('{{ .Email }} has been invited to create an account at {{ .SiteURL }}.', 'Accept the invitation'),
  },
  CONFIRMATION: {
    subject: 'Confirm your email address',
    body: linkBody(
      'Confirm that {{ .Email }} is your address to finish signing up at {{ .SiteURL }}.',
      'Confirm your email address',
    ),
  },
  RECOVERY: {
    subject: 'Reset your password',
    body: linkBody('Somebody asked to reset the password of {{ .Email }} at {{ .SiteURL }}.', 'Reset your password'),
  },
  MAGIC_LINK: {
    subject: 'Your sign-in link',
    body: linkBody('Use this link to sign in to {{ .SiteURL }} as {{ .Email }}.', 'Sign in'),
  },
  EMAIL_CHANGE: {
    subject: 'Confirm your new email address',
    body: linkBody(
      'Confirm the change of your email address at {{ .SiteURL }} from {{ .Email }} to {{ .NewEmail }}.',
      'Confirm the change',
    ),
  },
  REAUTHENTICATION: {
    subject: '{{ .Token }} is your verification code',
    body: '<h2>Confirm that it is you</h2>\n<p>Enter this code: <strong>{{ .Token }}</strong></p>\n',
  },
  PASSWORD_CHANGED_NOTIFICATION: {
    subject: 'Your password was changed',
    body: noticeBody('The password of your account {{ .Email }} was changed.'),
  },
  EMAIL_CHANGED_NOTIFICATION: {
    subject: 'Your email address was changed',
    body: noticeBody('The email address of your account was changed from {{ .OldEmail }} to {{ .Email }}.'),
  },
  PHONE_CHANGED_NOTIFICATION: {
    subject: 'Your phone number was changed',
    body: noticeBody(
      'The phone number of your account {{ .Email }} was changed{{ if .OldPhone }} from {{ .OldPhone }}{{ end }} to {{ .Phone }}.',
    ),
  },
  IDENTITY_LINKED_NOTIFICATION: {
    subject: 'A new sign-in method was linked to your account',
    body: noticeBody('{{ .Provider }} was linked to your account {{ .Email }}.'),
  },
  IDENTITY_UNLINKED_NOTIFICATION: {
    subject: 'A sign-in method was removed from your account',
    body: noticeBody('{{ .Provider }} was removed from your account {{ .Email }}.'),
  },
  MFA_FACTOR_ENROLLED_NOTIFICATION: {
    subject: 'A new verification method was added to your account',
    body: noticeBody('A verification method ({{ .FactorType }}) was added to your account {{ .Email }}.'),
  },
  MFA_FACTOR_UNENROLLED_NOTIFICATION: {
    subject: 'A verification method was removed from your account',
    body: noticeBody('A verification method ({{ .FactorType }}) was removed from your account {{ .Email }}.'),
  },
  PASSKEY_ADDED_NOTIFICATION: {
    subject: 'A passkey was added to your account',
    body: noticeBody('A passkey was added to your account {{ .Email }}.'),
  },
  PASSKEY_REMOVED_NOTIFICATION: {
    subject: 'A passkey was removed from your account',
    body: noticeBody('A passkey was removed from your account {{ .Email }}.'),
  },
  PASSKEYS_KEPT_NOTIFICATION: {
    subject: 'Check the passkeys of your account',
    body: noticeBody(
      'Your account {{ .Email }} was recovered by a mail. Passkeys that were added in the last 30 days are still there: {{ .Passkeys }}. Remove those that you do not know.',
    ),
  },
  RECOVERY_CODES_CREATED_NOTIFICATION: {
    subject: 'New recovery codes were made for your account',
    body: noticeBody('New recovery codes were made for your account {{ .Email }}.'),
  },
  ACCOUNT_SECURED_NOTIFICATION: {
    subject: 'Your account was secured',
    body: noticeBody(
      'Sessions, passkeys and verification methods of your account {{ .Email }} that were made since {{ .Since }} were removed.',
    ),
  },
}

function linkBody(sentence: string, action: string): string {
  return `<h2>${action}</h2>
<p>${sentence}</p>
<p><a href="{{ .ConfirmationURL }}">${action}</a></p>
<p>Or enter this code: <strong>{{ .Token }}</strong></p>
<p>If you did not ask for this, ignore this mail.</p>
`
}

function noticeBody(sentence: string): string {
  return `<p>${sentence}</p>\n<p>If this was not you, contact support at once.</p>\n`
}
