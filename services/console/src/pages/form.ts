import { type Html, html } from '@trestle/common/documents/html.ts'

/** The bytes that a form may have: the attributes of a product have 64 KiB, and a form writes many characters as three. */
export const FORM_BYTES_MAX = 262_144

/**
 * The hidden fields of each form of a session: the proof that the form is the console's, and a key, so that a double click
 * makes one change.
 */
export interface FormProof {
  readonly csrf: string
  /** A new Idempotency-Key for each page. */
  readonly key: string
}

/** Why a form was refused. */
export interface Problem {
  readonly message: string
  /** The name of the field that is to blame, where one is. */
  readonly field?: string | undefined
}

const PROBLEM_ID = 'problem'

/** Says why a form was refused, before its fields. */
export function problemAlert(problem: Problem | undefined): Html | undefined {
  return problem && html`<p class="alert" id="${PROBLEM_ID}" role="alert">${problem.message}</p>`
}

/** A form that makes a change. */
export interface ChangeForm {
  readonly action: string
  readonly proof: FormProof
  /** Why it was refused before. */
  readonly problem?: Problem | undefined
  /** A name that tells this form from the other forms of the page. */
  readonly purpose?: string
  readonly fields?: Html | undefined
  /** The text of its button. */
  readonly submit: string
  /** Whether the change cannot be undone. */
  readonly isDangerous?: boolean
  /** Whether it has a field for a file. */
  readonly takesFile?: boolean
  /** The path to which `Cancel` leads. Undefined: there is none. */
  readonly cancel?: string | undefined
}

/** Writes a form. Its button names what it does. */
export function changeForm(form: ChangeForm): Html {
  const { action, proof, problem, purpose = '', fields, submit, isDangerous, takesFile, cancel } = form
  const kind = isDangerous === true ? 'button danger' : 'button primary'
  return html`<form method="post" action="${action}" class="form"${attribute('enctype', takesFile === true ? 'multipart/form-data' : undefined)}>
${proofFields(proof, purpose)}
${problemAlert(problem)}${fields}
<div class="form-actions">
<button class="${kind}" type="submit">${submit}</button>
${cancel === undefined ? undefined : html`<a class="button" href="${cancel}" data-close>Cancel</a>`}
</div>
</form>`
}

/** The hidden fields of a form. */
export function proofFields({ csrf, key }: FormProof, purpose = ''): Html {
  const own = purpose === '' ? key : `${key}.${purpose}`
  return html`<input type="hidden" name="_csrf" value="${csrf}"><input type="hidden" name="_key" value="${own}">`
}

/** A field of a form. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly value?: string | undefined
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'tel'
  readonly hint?: string | undefined
  readonly isRequired?: boolean
  readonly autocomplete?: string
  /** The keyboard that phones show. */
  readonly inputMode?: 'numeric' | 'decimal' | 'text'
  readonly pattern?: string
  readonly maxLength?: number
  /** For an empty field that is required: Enter in a field that is filled in would send the form at once. */
  readonly isFocused?: boolean
  /** For an amount: the script of the pages says what is wrong with it before it is sent. */
  readonly range?: AmountRange
  /** Why its form was refused: a field that is to blame is marked. */
  readonly problem?: Problem | undefined
}

/** The bounds of an amount: it is above zero. */
export interface AmountRange {
  /** As a field takes it, such as `1234.50`. Empty: unknown. */
  readonly most: string
  readonly tooSmall: string
  readonly tooLarge: string
}

/** Writes a field with its label and its hint. */
export function textField(field: Field): Html {
  const { name, label, value, type = 'text', autocomplete = 'off', inputMode = 'text', pattern } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value ?? ''}" autocomplete="${autocomplete}" inputmode="${inputMode}"${flags({ required: field.isRequired, autofocus: field.isFocused })}${attribute('pattern', pattern)}${attribute('maxlength', field.maxLength)}${field.range && rangeAttributes(field.range)}${descriptionAttributes(field)}>
${hintOf(field)}
</div>`
}

/** The attributes that tell more of a field: its hint, and why it is to blame for the refusal of its form. */
export function descriptionAttributes({ name, hint, problem }: Pick<Field, 'name' | 'hint' | 'problem'>): Html {
  const isToBlame = problem?.field === name
  const ids = [...(hint === undefined ? [] : [hintIdOf(name)]), ...(isToBlame ? [PROBLEM_ID] : [])]
  return html`${attribute('aria-invalid', isToBlame ? 'true' : undefined)}${attribute('aria-describedby', ids.join(' '))}`
}

/** The hint below a field. */
export function hintOf({ name, hint }: Pick<Field, 'name' | 'hint'>): Html | undefined {
  return hint === undefined ? undefined : html`<p class="hint" id="${hintIdOf(name)}">${hint}</p>`
}

function hintIdOf(name: string): string {
  return `${name}-hint`
}

function rangeAttributes({ most, tooSmall, tooLarge }: AmountRange): Html {
  return html`${attribute('data-most', most)}${attribute('data-too-small', tooSmall)}${attribute('data-too-large', tooLarge)}`
}

/** How the field of a new password is shown, and what was sent in it before. */
export interface NewPasswordField extends Pick<Field, 'label' | 'hint'> {
  readonly sent: string | undefined
}

/**
 * Writes the field of a new password. No page holds a password, so a form that is shown again asks for the password that was
 * sent. Without it, the repeat of a lost change would be another change.
 */
export function newPasswordField({ label, hint, sent = '' }: NewPasswordField): Html {
  const isSent = sent !== ''
  return textField({
    name: 'password',
    label,
    type: 'password',
    autocomplete: 'new-password',
    hint: isSent ? 'Type the same password again. The console does not keep it.' : hint,
    isRequired: isSent,
  })
}

/** The first option of a choice that nobody may send by accident. With it the field is required. */
export const NO_CHOICE = ['', 'Choose…'] as const

/** A field in which one of several values is chosen. */
export interface ChoiceField extends Pick<Field, 'name' | 'label' | 'value' | 'hint' | 'isRequired' | 'problem'> {
  /** Values with their labels. */
  readonly options: readonly (readonly [string, string])[]
}

/** Writes a field of choices with its label and its hint. */
export function choiceField(field: ChoiceField): Html {
  const { name, label, value, isRequired, options } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}"${flags({ required: isRequired })}${descriptionAttributes(field)}>${optionsOf(options, value)}</select>
${hintOf(field)}
</div>`
}

/** The options of a field of choices, one of them chosen. */
export function optionsOf(options: ChoiceField['options'], value = ''): Html {
  const list = options.map(
    ([option, text]) =>
      html`<option value="${option}"${attribute('selected', option === value ? 'selected' : undefined)}>${text}</option>`,
  )
  return html`${list}`
}

/** Writes a field of several lines with its label and its hint. */
export function longTextField(field: Omit<Field, 'type'>): Html {
  const { name, label, value, isRequired } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" spellcheck="false" autocomplete="off"${flags({ required: isRequired })}${descriptionAttributes(field)}>
${value ?? ''}</textarea>
${hintOf(field)}
</div>`
}

/** Writes a field that is on or off. */
export function checkField({ name, label, hint, isChecked }: CheckField): Html {
  return html`<label class="check"><input type="checkbox" name="${name}" value="yes"${flags({ checked: isChecked })}><span>${label}${hint && html` <span class="hint">${hint}</span>`}</span></label>`
}

interface CheckField extends Pick<Field, 'name' | 'label' | 'hint'> {
  readonly isChecked: boolean
}

/** A value that a form carries and nobody sees. */
export function hiddenField(name: string, value: string | number): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** An attribute with a value. Nothing when the value is missing. */
export function attribute(name: string, value: string | number | undefined): Html | undefined {
  return value === undefined || value === '' ? undefined : html` ${{ html: name }}="${value}"`
}

/** Attributes without a value: those that are true. */
export function flags(isSet: Readonly<Record<string, boolean | undefined>>): readonly Html[] {
  return Object.keys(isSet).flatMap((name) => (isSet[name] === true ? [{ html: ` ${name}` }] : []))
}
