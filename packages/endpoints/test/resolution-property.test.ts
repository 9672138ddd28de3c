import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Application, accepts, Controller, p } from '../src/endpoints.ts'

// The full run: RESOLUTION_TREES=2000 npx vitest run packages/endpoints/test/resolution-property.test.ts
const treeCount = Number(process.env.RESOLUTION_TREES ?? 60)

/** A simple implementation of the resolution rules. Every step searches lists and keeps no state. */
interface NaiveHandler {
  readonly verb: string
  readonly suffix: string | undefined
  readonly min: number
  readonly max: number
}
interface NaiveClass {
  readonly name: string
  readonly handlers: readonly NaiveHandler[]
  readonly nested: readonly NaiveClass[]
}
interface NaiveModule {
  readonly path: readonly string[]
  readonly classes: readonly NaiveClass[]
}

const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

function naively(modules: readonly NaiveModule[], method: string, parts: readonly string[]): object {
  if (!VERBS.includes(method)) return { status: 501 }
  // Find the longest run of parts that begins the path of a module (reference: Resolution).
  let depth = 0
  const begins = (length: number) =>
    modules.some(({ path }) => path.length >= length && path.slice(0, length).every((name, i) => name === parts[i]))
  while (depth < parts.length && begins(depth + 1)) depth += 1
  const module = modules.find(({ path }) => path.join('/') === parts.slice(0, depth).join('/'))
  let rest = parts.slice(depth)
  // Find the named class, or the class `Default`.
  const named = module?.classes.find(({ name }) => name !== 'default' && name === rest[0])
  const found = named ?? module?.classes.find(({ name }) => name === 'default')
  if (found === undefined) return { status: 404 }
  if (named !== undefined) rest = rest.slice(1)
  return within(found, { method, rest, at: `${module?.path.join('.')}:${found.name}` })
}

interface Way {
  readonly method: string
  readonly rest: readonly string[]
  readonly at: string
}

/** Applies the rules that follow after a class: nested classes, then a suffix, then positionals. */
function within(found: NaiveClass, { method, rest: parts, at }: Way): object {
  let rest = parts
  const inner = found.nested.find(({ name }) => name === rest[0])
  if (inner !== undefined) return within(inner, { method, rest: rest.slice(1), at: `${at}.${inner.name}` })
  const suffix = found.handlers.some((handler) => handler.suffix !== undefined && handler.suffix === rest[0])
    ? rest[0]
    : undefined
  if (suffix !== undefined) rest = rest.slice(1)
  const own = found.handlers.filter((handler) => handler.suffix === suffix)
  const taking = (verb: string): NaiveHandler | undefined => {
    const any = ['HEAD', 'OPTIONS'].includes(verb) ? undefined : own.find((handler) => handler.verb === 'ANY')
    const handler = own.find((each) => each.verb === verb) ?? any
    if (handler !== undefined && rest.length >= handler.min && rest.length <= handler.max) return handler
    return verb === 'HEAD' ? taking('GET') : undefined
  }
  const allow = VERBS.filter((verb) => taking(verb) !== undefined || verb === 'OPTIONS')
  if (!VERBS.some((verb) => taking(verb) !== undefined)) return { status: 404 }
  const handler = taking(method)
  if (handler === undefined) return { status: method === 'OPTIONS' ? 204 : 405, allow }
  const name = handler.suffix === undefined ? handler.verb : `${handler.verb}_${handler.suffix}`
  return { status: 200, allow, positionals: rest, handler: `${at}.${name}` }
}

/** Returns real controllers with the same handlers, as the exports of a module or the static members of a class. */
function realClasses(classes: readonly NaiveClass[]): Record<string, unknown> {
  return Object.fromEntries(
    classes.map(({ name, handlers, nested }) => {
      const controller = Object.assign(class extends Controller {}, realClasses(nested))
      for (const { verb, suffix, min, max } of handlers) {
        const handler = suffix === undefined ? verb : `${verb}_${suffix}`
        Object.defineProperty(controller.prototype, handler, { value: () => null })
        const path = Array.from({ length: max === Number.POSITIVE_INFINITY ? min : max }, (_, i) =>
          i < min ? p.int() : p.int().optional(),
        )
        const rest = max === Number.POSITIVE_INFINITY ? { rest: p.int() } : {}
        Object.defineProperty(controller, handler, { value: accepts({ path, ...rest }) })
      }
      return [name === 'default' ? 'Default' : name, controller]
    }),
  )
}

const word = fc.constantFrom('a', 'b', 'c', 'd')
const handler = fc
  .tuple(
    fc.constantFrom(...VERBS, 'ANY'),
    fc.option(word, { nil: undefined }),
    fc.nat(2),
    fc.constantFrom(0, 1, Number.POSITIVE_INFINITY),
  )
  .map(([verb, suffix, min, more]): NaiveHandler => ({ verb, suffix, min, max: min + more }))
const handlersOf = (maxLength: number) =>
  fc.uniqueArray(handler, { maxLength, selector: ({ verb, suffix }) => `${verb}_${suffix}` })
const classesOf = (name: fc.Arbitrary<string>, most: number, nested: fc.Arbitrary<NaiveClass[]>) =>
  fc.uniqueArray(fc.record<NaiveClass>({ name, handlers: handlersOf(most + 2), nested }), {
    maxLength: most,
    selector: (each) => each.name,
  })
// Each level has fewer classes. The trees stay small, so that a test can try many of them.
const inner = classesOf(word, 2, classesOf(word, 1, fc.constant([])))
const exported = fc.oneof({ weight: 1, arbitrary: fc.constant('default') }, { weight: 2, arbitrary: word })
const naiveModule = fc.record({
  path: fc.array(word, { maxLength: 3 }),
  classes: classesOf(exported, 4, inner),
})
const trees = fc.uniqueArray(naiveModule, { minLength: 1, maxLength: 6, selector: ({ path }) => path.join('/') })
const requests = fc.array(
  fc.tuple(
    fc.constantFrom(...VERBS, 'TRACE'),
    fc.array(fc.oneof({ weight: 5, arbitrary: word }, fc.constantFrom('default', 'x')), { maxLength: 7 }),
  ),
  { minLength: 30, maxLength: 30 },
)

it('resolves random paths over random trees as the rules say', async () => {
  await fc.assert(
    fc.asyncProperty(trees, requests, async (modules, paths) => {
      const map = Object.fromEntries(
        modules.map((module) => [['', ...module.path, 'index'].join('/'), realClasses(module.classes)]),
      )
      const app = await new Application({ modules: map, log: { warn: () => {}, error: () => {} } }).ready()
      for (const [method, parts] of paths) {
        const { status, route, positionals, allow } = app.resolve(method, `/${parts.join('/')}`)
        const name = route && `${route.module}:${route.className.replace(/^Default/, 'default')}.${route.handler}`
        const real = {
          status,
          ...(allow.length > 0 ? { allow } : {}),
          ...(route ? { positionals, handler: name } : {}),
        }
        expect(real, `${method} /${parts.join('/')}`).toEqual(naively(modules, method, parts))
      }
    }),
    { numRuns: treeCount },
  )
})
