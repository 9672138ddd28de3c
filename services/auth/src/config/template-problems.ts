import { MAIL_KINDS } from '../messages/default-templates.ts'
import { templateProblem } from '../messages/mail-template.ts'
import type { MailValues } from './mail.ts'

type TemplateValues = MailValues & { readonly SMS_TEMPLATE: string; readonly MFA_PHONE_TEMPLATE: string }

/** The subjects and texts of SMS that are no templates, each with its setting and the place of the mistake. */
export function templateProblems(values: TemplateValues): readonly string[] {
  const texts = [
    ...MAIL_KINDS.map((kind) => [`MAILER_SUBJECTS_${kind}`, values[`MAILER_SUBJECTS_${kind}`]] as const),
    ['SMS_TEMPLATE', values.SMS_TEMPLATE] as const,
    ['MFA_PHONE_TEMPLATE', values.MFA_PHONE_TEMPLATE] as const,
  ]
  return texts.flatMap(([name, text]) => {
    const problem = text === undefined ? undefined : templateProblem(text)
    return problem === undefined ? [] : [`AUTH_${name} is no template: ${problem}`]
  })
}

/** The same as warnings for the operator, which say what is sent instead. */
export function templateWarnings(values: TemplateValues): readonly string[] {
  return templateProblems(values).map((problem) => `${problem}; the built-in text is sent`)
}
