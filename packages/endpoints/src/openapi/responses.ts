import type { Route } from '../routing/table.ts'
import type { JsonSchema, SchemaComponents } from './schemas.ts'

const refusals: Readonly<Record<number, string>> = {
  400: 'Malformed or invalid',
  404: 'There is nothing at this URL',
  406: 'The version is not one of those that are served',
  413: 'The body is too large',
  415: 'The media type of the body is not supported',
  500: 'Unexpected error',
}

/** The statuses of an operation: those of its handler, of its guards, and of the framework. */
export function buildResponses(
  route: Route,
  components: SchemaComponents,
  { readsBody, hasPositionals }: { readonly readsBody: boolean; readonly hasPositionals: boolean },
): JsonSchema {
  const errors = new Map<number, string>()
  const refuse = (...statuses: readonly number[]): void => {
    for (const status of statuses) errors.set(status, refusals[status] ?? '')
  }
  // Every operation may answer 400, because a query may hold unknown names.
  refuse(400, 500)
  if (hasPositionals) refuse(404)
  // DELETE takes no body, but reads one and refuses it.
  if (readsBody) refuse(413, 415)
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

function successes(route: Route, components: SchemaComponents): JsonSchema {
  const { returns, status, type, extensionType, spec } = route
  const further = (spec?.types ?? []).map((each) => [each, {}])
  if (returns !== undefined) {
    const schema = components.refer(returns, 'output')
    // The extension of a class is for the texts that it answers.
    const ownType = type ?? (schema.type === 'string' ? extensionType : undefined) ?? 'application/json'
    const content = { [ownType]: { schema }, ...Object.fromEntries(further) }
    return { [status ?? 200]: { description: 'Success', content } }
  }
  const types = [...(type === undefined ? [] : [[type, {}]]), ...further]
  const content = types.length === 0 ? {} : { content: Object.fromEntries(types) }
  if (status !== undefined) return { [status]: { description: 'Success', ...content } }
  return { 200: { description: 'Success', ...content }, 204: { description: 'Success, with nothing to say' } }
}
