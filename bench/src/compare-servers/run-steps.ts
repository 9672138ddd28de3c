import { setTimeout as delay } from 'node:timers/promises'
import { fill, fillJson, type Memory, Missing } from './memory.ts'
import { addressJson, claimsOf, type Known, normalise } from './normalise.ts'
import type { Peers } from './peers.ts'
import { comparedHeaders, keepable, linkParts, parseBody, variablesOf } from './read-answer.ts'
import type { AnswerStep, CallStep, Json, MailStep, Observation, RequestStep, Round, Step, Subject } from './step.ts'

/** A server under test, with the peers that it calls. */
export interface Side {
  readonly url: string
  readonly peers: Peers
  readonly adminToken: string
}

/** How long mails and calls are waited for. Ours may come from a queue. */
const WAIT_MS = 3_000
const REST_MS = 1_200

/** Sends the requests of a round to one server, in order. */
export async function runSteps(round: Round, side: Side): Promise<readonly Observation[]> {
  const seen: Observation[] = []
  for (const [index, subject] of round.subjects.entries()) {
    const tag = `s${index + 1}`
    side.peers.begin(tag)
    const kept = new Map<string, Json>([['admin', { access_token: side.adminToken }]])
    const run = new SubjectRun(side, { realm: side.peers.realm, tag, kept })
    const place = placesOf(round, subject)
    for (const step of subject.steps) seen.push(...(await run.take(step)).map(place))
    seen.push(...(await run.takeRest()).map(place))
  }
  return seen
}

type Unplaced = Omit<Observation, 'at' | 'of'> & { readonly step: string }

/** A step that comes again gets a number. */
function placesOf(round: Round, subject: Subject): (unplaced: Unplaced) => Observation {
  const counts = new Map<string, number>()
  let answer: string | undefined
  return ({ step, kind, value }) => {
    const count = (counts.get(step) ?? 0) + 1
    counts.set(step, count)
    const at = `${round.name} / ${subject.name} / ${step}${count > 1 ? ` (${count})` : ''}`
    if (kind === 'answer') answer = at
    return { at, kind, value, ...(kind === 'claims' && answer !== undefined && { of: answer }) }
  }
}

/** The state of one subject at one server. */
class SubjectRun {
  readonly #side: Side
  readonly #memory: Memory

  constructor(side: Side, memory: Memory) {
    this.#side = side
    this.#memory = memory
  }

  async take(step: Step): Promise<readonly Unplaced[]> {
    try {
      if ('pauseMs' in step) await delay(step.pauseMs)
      else if ('answerOf' in step) this.#setAnswer(step)
      else if ('mailTo' in step) return [await this.#takeMail(step)]
      else if ('callOf' in step) return [await this.#takeCall(step)]
      else return await this.#send(step)
      return []
    } catch (error) {
      if (!(error instanceof Missing) || !('name' in step)) throw error
      return [{ step: step.name, kind: 'answer', value: { missing: error.message } }]
    }
  }

  /** Mails and calls that no step has taken: neither server may send more than the other. */
  async takeRest(): Promise<readonly Unplaced[]> {
    await delay(REST_MS)
    const { mails, calls } = this.#side.peers.takeRest()
    const rest = {
      mails: mails.map(({ to, subject }) => `${to}: ${subject}`).sort(),
      calls: [...calls].sort(),
    }
    return [{ step: 'what is left at the end', kind: 'mail', value: this.#normal(rest) }]
  }

  #setAnswer({ answerOf, status = 200, body }: AnswerStep): void {
    this.#side.peers.answer(answerOf, status, fillJson(body, this.#memory))
  }

  async #takeMail({ name, mailTo, keep }: MailStep): Promise<Unplaced> {
    const mail = await this.#side.peers.takeMail(fill(mailTo, this.#memory), WAIT_MS)
    if (!mail) return { step: name, kind: 'mail', value: 'no mail' }
    const variables = variablesOf(mail)
    if (keep !== undefined) this.#memory.kept.set(keep, { ...variables, ...linkParts(variables.ConfirmationURL) })
    const link = addressJson(String(variables.ConfirmationURL ?? ''))
    const hasTemplate = 'SiteURL' in variables
    const value = {
      from: mail.from,
      to: mail.to,
      subject: mail.subject,
      ...(hasTemplate ? { variables: { ...variables, ConfirmationURL: link } } : { link, hasText: mail.text !== '' }),
    }
    return { step: name, kind: 'mail', value: this.#normal(value) }
  }

  async #takeCall({ name, callOf, keep }: CallStep): Promise<Unplaced> {
    const payload = await this.#side.peers.takeCall(callOf, WAIT_MS)
    if (payload === undefined) return { step: name, kind: 'hook', value: 'no call' }
    if (keep !== undefined) this.#memory.kept.set(keep, payload)
    return { step: name, kind: 'hook', value: this.#normal(payload) }
  }

  async #send(step: RequestStep): Promise<readonly Unplaced[]> {
    const sends = Array.from({ length: step.times ?? 1 }, () => this.#sendOnce(step))
    const answers = await Promise.all(sends)
    if (step.times !== undefined) {
      // Which of the requests comes first is chance.
      const value = answers.map(({ shown }) => this.#normal(shown)).sort(byText)
      return [{ step: step.name, kind: 'answer', value }]
    }
    return answers.flatMap(({ shown, body }): readonly Unplaced[] => {
      if (step.keep !== undefined) this.#memory.kept.set(step.keep, body)
      const claims = claimsOf(body.access_token)
      const answer: Unplaced = { step: step.name, kind: 'answer', value: this.#normal(shown) }
      if (claims === undefined) return [answer]
      return [answer, { step: `${step.name}: claims`, kind: 'claims', value: this.#normal(claims) }]
    })
  }

  async #sendOnce({ send, body, headers = {}, as }: RequestStep) {
    const [method = '', path = ''] = fill(send, this.#memory).split(/ (.*)/s)
    const token = as === undefined ? undefined : fill(`{${as}.access_token}`, this.#memory)
    const sent = body === undefined ? undefined : fillJson(body, this.#memory)
    const response = await fetch(this.#side.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value, this.#memory)])),
      },
      ...(sent !== undefined && { body: typeof sent === 'string' ? sent : JSON.stringify(sent) }),
    })
    const text = await response.text()
    const location = response.headers.get('location')
    const answered = parseBody(text)
    return {
      status: response.status,
      shown: {
        status: response.status,
        headers: comparedHeaders(method, response.headers),
        ...(location === null ? { body: answered } : { location: addressJson(location) }),
      },
      body: keepable(answered, location),
    }
  }

  #normal(value: Json): Json {
    const { url, peers } = this.#side
    const known: Known = {
      texts: [
        [url, '<server>'],
        [encodeURIComponent(url), '<server>'],
        [url.replace(/^http:\/\//, ''), '<server host>'],
        [peers.url, '<peers>'],
        [`@${this.#memory.tag}.`, '@'],
        [`%40${this.#memory.tag}.`, '%40'],
        [`.${this.#memory.tag}`, ''],
      ],
      nowSeconds: Math.floor(Date.now() / 1_000),
    }
    return normalise(value, known)
  }
}

function byText(one: Json, other: Json): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1
}
