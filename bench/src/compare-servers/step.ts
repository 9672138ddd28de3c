import { json } from 'zod'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

/** Parses JSON. @throws SyntaxError for any other text */
export function parseJson(text: string): Json {
  return JsonValue.parse(JSON.parse(text))
}

const JsonValue = json()

export const HOOKS = [
  'SEND_EMAIL',
  'SEND_SMS',
  'CUSTOM_ACCESS_TOKEN',
  'BEFORE_USER_CREATED',
  'AFTER_USER_CREATED',
  'PASSWORD_VERIFICATION_ATTEMPT',
  'MFA_VERIFICATION_ATTEMPT',
] as const
export type HookName = (typeof HOOKS)[number]

/**
 * A request to both servers. In each text, `{ada.user.id}` is replaced by a value that an earlier step stored: a member of an
 * answer, or a parameter of a redirect URL. `memory.ts` lists the other placeholders.
 */
export interface RequestStep {
  /** A description of the special feature of the step. A repeated name in a subject gets a number. */
  readonly name: string
  /** The method and path, such as `POST /signup`. */
  readonly send: string
  /** The body, sent as JSON. A text is sent unchanged. */
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
  /** The user whose access token is sent: a name in `keep` of an earlier step, or `admin`. */
  readonly as?: string
  /** The name by which later steps refer to the answer. */
  readonly keep?: string
  /** Sends the request this many times in parallel. Answers are compared in the order of their statuses. */
  readonly times?: number
}

export interface MailStep {
  readonly name: string
  readonly mailTo: string
  readonly keep?: string
}

export interface CallStep {
  readonly name: string
  readonly callOf: HookName
  readonly keep?: string
}

export interface AnswerStep {
  readonly answerOf: HookName
  readonly status?: number
  readonly body: Json
}

export interface PauseStep {
  readonly pauseMs: number
}

export type Step = RequestStep | MailStep | CallStep | AnswerStep | PauseStep

/** Steps about one subject, which creates its own users. */
export interface Subject {
  readonly name: string
  readonly steps: readonly Step[]
}

/** The settings of both servers in a round, and the subjects that run with them. */
export interface Round {
  readonly name: string
  /** Settings without prefix, equal for both servers. */
  readonly settings: Readonly<Record<string, string>>
  readonly hooks?: readonly HookName[]
  /** Whether mails use templates that show every variable, instead of the built-in texts. */
  readonly hasTemplates?: boolean
  readonly subjects: readonly Subject[]
}

/** An effect of a step: an answer, the claims of a token, a mail or a hook call. */
export interface Observation {
  /** `round / subject / step`. */
  readonly at: string
  readonly kind: 'answer' | 'claims' | 'mail' | 'hook'
  readonly value: Json
  /** The answer that contains the token with these claims. */
  readonly of?: string
}

export const PASSWORD = 'correct horse battery staple'

/** The first mail to an address. Later steps read nothing from it. */
export function mailTo(address: string, keep: string): MailStep {
  return { name: `mail to ${address}`, mailTo: address, keep }
}

export function callOf(hook: HookName, keep?: string): CallStep {
  return { name: `call of ${hook}`, callOf: hook, ...(keep !== undefined && { keep }) }
}

/** Sends a request with each of several named bodies. */
export function bodies(
  send: string,
  named: Readonly<Record<string, Json>>,
  more: Partial<RequestStep> = {},
): readonly RequestStep[] {
  return Object.entries(named).map(([name, body]) => ({ name: `${send}: ${name}`, send, body, ...more }))
}

/** Sends requests in order. Each request is its own name. */
export function sends(requests: readonly string[], more: Partial<RequestStep> = {}): readonly RequestStep[] {
  return requests.map((send) => ({ name: send, send, ...more }))
}

/** A sign-up by email with the usual password. */
export function signUp(name: string, more: JsonObject = {}): RequestStep {
  const body = { email: `${name}@example.com`, password: PASSWORD, ...more }
  return { name: `sign up ${name}`, send: 'POST /signup', body, keep: name }
}

export function signIn(name: string, keep: string = name): RequestStep {
  const body = { email: `${name}@example.com`, password: PASSWORD }
  return { name: `sign in ${name} as ${keep}`, send: 'POST /token?grant_type=password', body, keep }
}

export function getUser(name: string, note = ''): RequestStep {
  return { name: `GET /user of ${name}${note && ` ${note}`}`, send: 'GET /user', as: name }
}
