import { type Html, html } from '@trestle/common/documents/html.ts'
import { changeForm, type FormProof, flags, type Problem, problemAlert, textField } from '../pages/form.ts'
import { renderSinglePage } from '../pages/layout.ts'
import { PATHS } from '../pages/paths.ts'
import type { NewFactor } from './auth-session.ts'

export interface SignInForm {
  /** The path after the sign-in. */
  readonly next: string
  readonly email?: string
  readonly problem?: Problem | undefined
  readonly note?: string | undefined
}

export function signInPage({ next, email, problem, note }: SignInForm): string {
  return renderSinglePage(
    'Sign in',
    html`<h1>Sign in</h1>
${noteOf(note)}
<form method="post" action="${PATHS.signIn}" class="form">
<input type="hidden" name="next" value="${next}">
${problemAlert(problem)}${textField({ name: 'email', label: 'Email', type: 'email', value: email, autocomplete: 'username', isRequired: true, isFocused: true })}
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isRequired: true })}
<button class="button primary block" type="submit">Sign in</button>
</form>`,
  )
}

export interface OpenedLink {
  readonly tokenHash: string
  /** The email of the operator who is signed in in this browser. */
  readonly signedIn: string | undefined
}

/**
 * The page of a sign-in link. Only its button uses the link, because mail scanners open links but press no buttons. Another
 * person may have sent the link, so the page names the session that it would replace. In this case the button has no focus, so
 * that a key for another site does not press it.
 */
export function signInLinkPage({ tokenHash, signedIn }: OpenedLink): string {
  return renderSinglePage(
    'Sign in',
    html`<h1>Sign in</h1>
<p>The link works once. Press the button to use it in this browser.</p>
${noteOf(signedIn === undefined ? undefined : `You are signed in as ${signedIn}. The button ends this session, and signs in as the user of the link.`)}
<form method="post" action="${PATHS.signInLink}" class="form">
<input type="hidden" name="token_hash" value="${tokenHash}">
<button class="button primary block" type="submit"${flags({ autofocus: signedIn === undefined })}>Sign in</button>
</form>`,
  )
}

export interface CodeForm {
  readonly proof: FormProof
  readonly next: string
  readonly problem?: Problem | undefined
  readonly newFactor?: Partial<NewFactor> & Pick<NewFactor, 'id'>
}

/** The page that asks for a code. For a new app, it also shows the QR code. */
export function codePage({ proof, next, problem, newFactor }: CodeForm): string {
  const title = newFactor === undefined ? 'Enter your code' : 'Set up your authenticator app'
  return renderSinglePage(
    title,
    html`<h1>${title}</h1>
${newFactor === undefined ? html`<p>Your authenticator app shows a code of six digits.</p>` : setUpOf(newFactor)}
${changeForm({
  action: PATHS.signInFactor,
  proof,
  problem,
  submit: 'Confirm',
  fields: html`<input type="hidden" name="next" value="${next}">
${newFactor === undefined ? undefined : html`<input type="hidden" name="factor_id" value="${newFactor.id}">`}
${textField({ name: 'code', label: 'Code', inputMode: 'numeric', pattern: '[0-9 ]{6,7}', autocomplete: 'one-time-code', isRequired: true, isFocused: true, problem })}`,
})}`,
  )
}

function setUpOf({ qrCode, secret }: Partial<NewFactor>): Html {
  if (qrCode === undefined || secret === undefined) {
    return html`<p>Enter the code that the app shows now, or <a href="${PATHS.signInFactor}">start again</a>.</p>`
  }
  const image = `data:image/svg+xml;base64,${Buffer.from(qrCode).toString('base64')}`
  return html`<p>Scan the picture with an authenticator app, then enter the code that the app shows.</p>
<p class="qr"><img src="${image}" alt="The secret below as a QR code" width="180" height="180"></p>
<p class="hint">Or type this secret into the app: <code class="secret">${secret}</code></p>`
}

/** The page before the set-up of an authenticator app. Nothing changes until its button is pressed. */
export function beginFactorPage({ proof, next }: Pick<CodeForm, 'proof' | 'next'>): string {
  return renderSinglePage(
    'Set up your authenticator app',
    html`<h1>Set up your authenticator app</h1>
<p>The console asks for a second factor at each sign-in. You need an app such as Aegis, 1Password or Google Authenticator.</p>
${changeForm({
  action: PATHS.signInFactors,
  proof,
  submit: 'Show the QR code',
  fields: html`<input type="hidden" name="next" value="${next}">`,
})}`,
  )
}

/**
 * The page for an operator with other second factors. Auth lets a user add an authenticator app only after such a factor was
 * used.
 */
export function otherFactorPage(): string {
  return renderSinglePage(
    'Your second factor cannot be shown here',
    html`<h1>Your second factor cannot be shown here</h1>
<p>The console asks for codes of an authenticator app, and you have set up another second factor in the application.</p>
<p>Add an authenticator app there, then sign in again. Or ask an operator with the role admin to remove the other factor.</p>
<p><a href="${PATHS.signIn}">Back to the sign-in</a></p>`,
  )
}

function noteOf(note: string | undefined): Html | undefined {
  return note === undefined ? undefined : html`<p class="note" role="status">${note}</p>`
}
