import type { Route } from '../routing/table.ts'
import type { JsonSchema, SchemaComponents } from './schemas.ts'

const refusals: Readonly<Record<number, string>> = {
  400: 'Malformed or invalid',
  404: 'There is nothing at this URL',
  405: 'The URL does not take this method',
  406: 'The version is not one of those that are served',
  413: 'The body is too large',
  415: 'The media type of the body is not supported',
  500: 'Unexpected error',
}

export interface Taken {
  readonly takesBody: boolean
  /** Whether anything of the request is bound to an argument. */
  readonly binds: boolean
}

/** What a handler may answer: its own, then what its guards and the framework refuse with. */
export function buildResponses(route: Route, components: SchemaComponents, { takesBody, binds }: Taken): JsonSchema {
  const errors = new Map<number, string>()
  const refuse = (...statuses: readonly number[]): void => {
    for (const status of statuses) errors.set(status, refusals[status] ?? '')
  }
  if (takesBody || binds) refuse(400)
  refuse(404, 405, 500)
  if (takesBody) refuse(413, 415)
  if (route.versions !== undefined) refuse(406)
  const told = [...route.guards.early, ...route.guards.bound, route.spec ?? {}]
  for (const { responses = {} } of told) {
    for (const [status, description] of Object.entries(responses)) errors.set(Number(status), description)
  }
  const content =
    components.error === undefined ? {} : { content: { 'application/json': { schema: components.error } } }
  return {
    ...successes(route, components),
    ...Object.fromEntries(
      [...errors].map(([status, description]) => [status, { description, ...(status < 400 ? {} : content) }]),
    ),
  }
}

function successes({ returns, status, type, extensionType }: Route, components: SchemaComponents): JsonSchema {
  if (returns !== undefined) {
    const schema = components.refer(returns, 'output')
    // The extension of a class is for the texts that it answers.
    const ownType = type ?? (schema.type === 'string' ? extensionType : undefined) ?? 'application/json'
    const content = { [ownType]: { schema } }
    return { [status ?? 200]: { description: 'Success', content } }
  }
  if (status !== undefined) return { [status]: { description: 'Success' } }
  return { 200: { description: 'Success' }, 204: { description: 'Success, with nothing to say' } }
}
