import { type Html, html } from '@trestle/common/documents/html.ts'

/** The limit of a form in bytes. Product attributes have 64 KiB, and forms encode many characters as three. */
export const FORM_BYTES_MAX = 262_144

/**
 * The hidden fields of each form: a token that proves that the form comes from the console, and a key that makes a double click
 * only one change.
 */
export interface FormProof {
  readonly csrf: string
  /** A new Idempotency-Key for each page. */
  readonly key: string
}

/** Why a form was refused. */
export interface Problem {
  readonly message: string
  /** The name of the invalid field, if there is one. */
  readonly field?: string | undefined
}

const PROBLEM_ID = 'problem'

/** Shows the reason of a refusal above the fields. */
export function problemAlert(problem: Problem | undefined): Html | undefined {
  return problem && html`<p class="alert" id="${PROBLEM_ID}" role="alert">${problem.message}</p>`
}

export interface ChangeForm {
  readonly action: string
  readonly proof: FormProof
  /** Why the form was refused before. */
  readonly problem?: Problem | undefined
  /** Distinguishes this form from other forms of the page. */
  readonly purpose?: string
  readonly fields?: Html | undefined
  readonly submit: string
  /** Whether the change cannot be undone. */
  readonly isDangerous?: boolean
  readonly takesFile?: boolean
  /** The path of the link `Cancel`. `undefined` if there is no such link. */
  readonly cancel?: string | undefined
}

/** Returns the form of a change. Its button states the effect. */
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

export function proofFields({ csrf, key }: FormProof, purpose = ''): Html {
  const own = purpose === '' ? key : `${key}.${purpose}`
  return html`<input type="hidden" name="_csrf" value="${csrf}"><input type="hidden" name="_key" value="${own}">`
}

export interface Field {
  readonly name: string
  readonly label: string
  readonly value?: string | undefined
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'tel'
  readonly hint?: string | undefined
  readonly isRequired?: boolean
  readonly autocomplete?: string
  /** The keyboard type on phones. */
  readonly inputMode?: 'numeric' | 'decimal' | 'text'
  readonly pattern?: string
  readonly maxLength?: number
  /** For an empty required field. In a field with a value, Enter would send the form immediately. */
  readonly isFocused?: boolean
  /** For an amount. The script of the pages reports an invalid amount before it is sent. */
  readonly range?: AmountRange
  /** Why the form was refused. The invalid field is marked. */
  readonly problem?: Problem | undefined
}

/** The bounds of an amount, which must be above zero. */
export interface AmountRange {
  /** In the format of a field, such as `1234.50`. Empty if unknown. */
  readonly most: string
  readonly tooSmall: string
  readonly tooLarge: string
}

export function textField(field: Field): Html {
  const { name, label, value, type = 'text', autocomplete = 'off', inputMode = 'text', pattern } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value ?? ''}" autocomplete="${autocomplete}" inputmode="${inputMode}"${flags({ required: field.isRequired, autofocus: field.isFocused })}${attribute('pattern', pattern)}${attribute('maxlength', field.maxLength)}${field.range && rangeAttributes(field.range)}${descriptionAttributes(field)}>
${hintOf(field)}
</div>`
}

/** Returns the attributes that describe a field: its hint, and its error. */
export function descriptionAttributes({ name, hint, problem }: Pick<Field, 'name' | 'hint' | 'problem'>): Html {
  const isToBlame = problem?.field === name
  const ids = [...(hint === undefined ? [] : [hintIdOf(name)]), ...(isToBlame ? [PROBLEM_ID] : [])]
  return html`${attribute('aria-invalid', isToBlame ? 'true' : undefined)}${attribute('aria-describedby', ids.join(' '))}`
}

export function hintOf({ name, hint }: Pick<Field, 'name' | 'hint'>): Html | undefined {
  return hint === undefined ? undefined : html`<p class="hint" id="${hintIdOf(name)}">${hint}</p>`
}

function hintIdOf(name: string): string {
  return `${name}-hint`
}

function rangeAttributes({ most, tooSmall, tooLarge }: AmountRange): Html {
  return html`${attribute('data-most', most)}${attribute('data-too-small', tooSmall)}${attribute('data-too-large', tooLarge)}`
}

/** The field of a new password, and its previous value. */
export interface NewPasswordField extends Pick<Field, 'label' | 'hint'> {
  readonly sent: string | undefined
}

/**
 * Returns the field of a new password. No page contains a password, so a form that is shown again asks for the same password.
 * With another one, repeating a lost request would be a different change.
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

/** The first option of a choice that must not be sent by accident. The user has to choose another one. */
export const NO_CHOICE = ['', 'Choose…'] as const

export interface ChoiceField extends Pick<Field, 'name' | 'label' | 'value' | 'hint' | 'isRequired' | 'problem'> {
  readonly options: readonly (readonly [string, string])[]
}

export function choiceField(field: ChoiceField): Html {
  const { name, label, value, isRequired, options } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}"${flags({ required: isRequired })}${descriptionAttributes(field)}>${optionsOf(options, value)}</select>
${hintOf(field)}
</div>`
}

/** Returns the options of a choice, one of them selected. */
export function optionsOf(options: ChoiceField['options'], value = ''): Html {
  const list = options.map(
    ([option, text]) =>
      html`<option value="${option}"${attribute('selected', option === value ? 'selected' : undefined)}>${text}</option>`,
  )
  return html`${list}`
}

export function longTextField(field: Omit<Field, 'type'>): Html {
  const { name, label, value, isRequired } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" spellcheck="false" autocomplete="off"${flags({ required: isRequired })}${descriptionAttributes(field)}>
${value ?? ''}</textarea>
${hintOf(field)}
</div>`
}

export function checkField({ name, label, hint, isChecked }: CheckField): Html {
  return html`<label class="check"><input type="checkbox" name="${name}" value="yes"${flags({ checked: isChecked })}><span>${label}${hint && html` <span class="hint">${hint}</span>`}</span></label>`
}

interface CheckField extends Pick<Field, 'name' | 'label' | 'hint'> {
  readonly isChecked: boolean
}

/** Returns a hidden field with a value. */
export function hiddenField(name: string, value: string | number): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** Returns nothing if the value is missing. */
export function attribute(name: string, value: string | number | undefined): Html | undefined {
  return value === undefined || value === '' ? undefined : html` ${{ html: name }}="${value}"`
}

/** Returns the attributes without a value that are `true`. */
export function flags(isSet: Readonly<Record<string, boolean | undefined>>): readonly Html[] {
  return Object.keys(isSet).flatMap((name) => (isSet[name] === true ? [{ html: ` ${name}` }] : []))
}
