import { json } from 'zod'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

/** The value of a JSON text. @throws SyntaxError for another text */
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
 * A request to both servers. In every text `{ada.user.id}` stands for what an earlier step kept: the members of an answer, or
 * the parameters of the address that it redirects to. `memory.ts` has the other placeholders.
 */
export interface RequestStep {
  /** The name of the step, which says what is special about the step. A name that comes again in a subject gets a number. */
  readonly name: string
  /** Method and path, such as `POST /signup`. */
  readonly send: string
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
  /** The user whose access token is sent: a name that `keep` of an earlier step gave, or `admin`. */
  readonly as?: string
  /** The name under which later steps find the answer. */
  readonly keep?: string
  /** Sends the request so many times at once. The answers are compared in the order of their statuses. */
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

/** Steps about one subject, which makes its own users. */
export interface Subject {
  readonly name: string
  readonly steps: readonly Step[]
}

/** The settings of both servers in a round, and the subjects that run under them. */
export interface Round {
  readonly name: string
  /** Settings without their prefix, the same for both servers. */
  readonly settings: Readonly<Record<string, string>>
  readonly hooks?: readonly HookName[]
  /** Whether the mails come from templates that show every variable; otherwise from the texts that are built in. */
  readonly hasTemplates?: boolean
  readonly subjects: readonly Subject[]
}

/** Something that a server did at a step: an answer, the claims of a token, a mail or a call of a hook. */
export interface Observation {
  /** `round / subject / step`. */
  readonly at: string
  readonly kind: 'answer' | 'claims' | 'mail' | 'hook'
  readonly value: Json
  /** The answer whose token has these claims. */
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

/** Sends a request with each of several bodies, each under its name. */
export function bodies(
  send: string,
  named: Readonly<Record<string, Json>>,
  more: Partial<RequestStep> = {},
): readonly RequestStep[] {
  return Object.entries(named).map(([name, body]) => ({ name: `${send}: ${name}`, send, body, ...more }))
}

/** Sends requests in order, each named by itself. */
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
