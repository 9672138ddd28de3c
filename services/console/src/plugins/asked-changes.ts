import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { formStale, pageNotFound } from '../errors.ts'
import {
  type AskedChange,
  type Changeable,
  GivenFields,
  isStale,
  linkedFields,
  questionPage,
  shownOncePage,
} from '../pages/asked-change.ts'
import type { FormProof, Problem } from '../pages/form.ts'
import type { Outcome } from '../service-calls/operator-calls.ts'
import { refuseMissing } from '../service-calls/service-call.ts'
import { FormBody } from './browser-session.ts'
import { answerDone, isLedToForm, leadAround, requireAction, visitOf } from './operator.ts'
import { sendPage } from './pages.ts'

interface NamedChange<Shown> {
  readonly name: string
  readonly shown: Shown
  readonly given: GivenFields
}

/** The object of changes, and the parameters that identify it. */
interface ChangeRoutesOptions<Params, Shown> {
  readonly params: z.ZodType<Params>
  readonly changeable: Changeable<Shown>
  readonly read: (request: FastifyRequest, params: Params, given: GivenFields) => Shown | Promise<Shown>
}

const ChangeName = z.object({ change: z.string().max(32) })

/**
 * Adds the routes of changes: GET asks for confirmation, and POST makes the change.
 * @param path its last part is `:change`, or the name of a change
 */
export function addChangeRoutes<Params, Shown>(
  app: FastifyInstance,
  path: string,
  { params, changeable, read }: ChangeRoutesOptions<Params, Shown>,
): void {
  const lastPart = path.slice(path.lastIndexOf('/') + 1)
  const isFixed = lastPart !== ':change'
  const schema = { params: isFixed ? params : params.and(ChangeName) }
  const named = async (request: FastifyRequest, given: GivenFields): Promise<NamedChange<Shown>> => {
    const name = isFixed ? lastPart : ChangeName.parse(request.params).change
    // The schema of the route has validated the parameters. Parse them again only for their type.
    return { name, shown: await read(request, params.parse(request.params), given), given }
  }
  app.get<{ Querystring: GivenFields }>(
    path,
    { schema: { ...schema, querystring: GivenFields } },
    async (request, reply) => askChange(request, reply, changeable, await named(request, request.query)),
  )
  app.post<{ Body: GivenFields }>(path, { schema: { ...schema, body: GivenFields } }, async (request, reply) =>
    answerChange(request, reply, changeable, await named(request, request.body)),
  )
}

/**
 * Asks for confirmation of a change. If another site or a sign-in has led the browser here, it is redirected to the page of the
 * object. Otherwise a key or a click for the previous page could send the form, which may be filled in. Anyone can write the URL
 * to which a sign-in leads.
 * @throws notSignedIn, actionForbidden, pageNotFound for an unknown change, and objectNotFound for a part that the object does
 * not have
 */
async function askChange<Shown>(
  request: FastifyRequest,
  reply: FastifyReply,
  changeable: Changeable<Shown>,
  { name, shown, given }: NamedChange<Shown>,
): Promise<FastifyReply> {
  const change = requireChange(changeable, name)
  const { form } = requireAction(request, change.action)
  if (isLedToForm(request)) return leadAround(request, reply, (changeable.shownAt ?? changeable.pathOf)(shown))
  const linked = requirePart(linkedFields(change, shown, given))
  return sendPage(request, reply, questionPage(changeable, { change, shown, given: linked, proof: form }))
}

/**
 * Makes the change that an operator has confirmed. If the service rejects it, the form shows the reason and the typed values.
 * @throws notSignedIn, actionForbidden, pageNotFound for an unknown change, and objectNotFound for a part that the object does
 * not have
 */
async function answerChange<Shown>(
  request: FastifyRequest,
  reply: FastifyReply,
  changeable: Changeable<Shown>,
  { name, shown, given }: NamedChange<Shown>,
): Promise<FastifyReply> {
  const change = requireChange(changeable, name)
  requireAction(request, change.action)
  const { _key: key } = FormBody.parse(given)
  const linked = linkedFields(change, shown, given)
  if (change.part?.isEnded !== true) requirePart(linked)
  if (isStale(change, shown, given)) {
    // Show the current values, because the typed values were meant for the former state of the object.
    const { status, ...asked } = askedAgain(request, { kind: 'refused', message: `${formStale().message}.` })
    return sendPage(request, reply, questionPage(changeable, { change, shown, given: linked ?? {}, ...asked }), status)
  }
  const outcome = await sendChange(request, changeable, { change, shown, given, key })
  if (outcome.kind === 'done') {
    const path = change.leadsTo?.(shown, given, outcome.body) ?? (changeable.shownAt ?? changeable.pathOf)(shown)
    const main = change.shows?.(shown, outcome.body)
    if (main !== undefined) {
      const title = change.title?.(shown, given) ?? change.label
      return sendPage(request, reply, shownOncePage(changeable, { title, path, main }))
    }
    const toast = typeof change.done === 'string' ? change.done : change.done(shown, given, outcome.body)
    return answerDone(request, reply, { path, toast })
  }
  const { status, ...asked } = askedAgain(request, outcome)
  return sendPage(request, reply, questionPage(changeable, { change, shown, given, ...asked }), status)
}

/** A form that is shown again, with the reason. */
export interface AskedAgain {
  readonly proof: FormProof
  readonly problem: Problem
  readonly status: 422 | 503
}

/**
 * Returns the values for a form that is shown again after a rejected change or a lost answer. The form keeps its key, because an
 * earlier attempt may be done or still running. Services store no key of a rejected change.
 */
export function askedAgain(request: FastifyRequest, outcome: Exclude<Outcome, { kind: 'done' }>): AskedAgain {
  const { _key: key, _csrf: csrf } = FormBody.parse(request.body)
  return { proof: { csrf, key }, problem: outcome, status: outcome.kind === 'refused' ? 422 : 503 }
}

async function sendChange<Shown>(
  request: FastifyRequest,
  { service }: Changeable<Shown>,
  asked: {
    readonly change: AskedChange<Shown>
    readonly shown: Shown
    readonly given: GivenFields
    readonly key: string
  },
): Promise<Outcome> {
  const call = asked.change.call(asked.shown, asked.given)
  if ('problem' in call) return { kind: 'refused', message: `${call.problem.message}.`, field: call.field }
  return visitOf(request).calls.change({ service, ...call, answer: asked.change.answer, key: asked.key })
}

function requireChange<Shown>({ changes }: Changeable<Shown>, name: string): AskedChange<Shown> {
  const found = changes.find((change) => change.name === name)
  if (found === undefined) throw pageNotFound()
  return found
}

/** Requires that the object has the part. @throws objectNotFound */
function requirePart(linked: GivenFields | undefined): GivenFields {
  return linked ?? refuseMissing()
}

/** Finds an object that has no URL of its own in a list. @throws objectNotFound */
export function findById<Row extends { readonly id: string }>(rows: readonly Row[], id: string): Row {
  return rows.find((row) => row.id === id) ?? refuseMissing()
}
