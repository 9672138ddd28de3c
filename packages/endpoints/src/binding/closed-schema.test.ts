import { beforeAll, describe, expect, it } from 'vitest'
import { type ZodType, z } from 'zod'
import { Application, accepts, Controller } from '../endpoints.ts'

const A = z.object({ a: z.number() })
const B = z.object({ b: z.number() })
const kinds = z.discriminatedUnion('kind', [A.extend({ kind: z.literal('a') }), B.extend({ kind: z.literal('b') })])
const Renamed = z.looseObject({ old: z.number() })
/** Accepts both names of one member. A client of an older version may send the old name. */
const renamed = (value: unknown): unknown => {
  const { data } = Renamed.safeParse(value)
  if (data === undefined) return value
  const { old, ...rest } = data
  return { ...rest, a: old }
}

const schemas: Readonly<Record<string, ZodType>> = {
  union: z.union([A, B]),
  kinds,
  intersection: z.intersection(A, B),
  mixed: z.intersection(kinds, z.object({ common: z.number() })),
  preprocessed: z.preprocess(renamed, A),
  'preprocessed-intersection': z.preprocess(renamed, z.intersection(A, B)),
  'preprocessed-union': z.preprocess(renamed, z.union([A, B])).readonly(),
  transformed: z.union([A, B]).transform((value) => value),
  lazy: z.lazy(() => A),
  'loose-union': z.union([A, z.looseObject({ b: z.number() })]),
  'loose-intersection': z.intersection(A, z.looseObject({ b: z.number() })),
  record: z.record(z.string(), z.number()),
  caught: A.catch({ a: 0 }),
  'caught-union': z.union([A, B]).catch({ a: 0 }),
  defaulted: A.default({ a: 0 }),
  prefaulted: A.prefault({ a: 0 }),
  required: A.optional().nonoptional(),
  'exactly-optional': A.exactOptional(),
  branded: A.brand('A').readonly(),
  decoded: z.codec(A, A, { decode: (value) => value, encode: (value) => value }),
  piped: z.unknown().pipe(A),
}

function controllerOf(keywords: ZodType) {
  return class extends Controller {
    static POST = accepts({ keywords })
    POST(given: unknown) {
      return given
    }
  }
}

let app: Application
beforeAll(async () => {
  const classes = Object.entries(schemas).map(([name, keywords]) => [name, { Default: controllerOf(keywords) }])
  app = await new Application({ modules: Object.fromEntries(classes) }).ready()
})

const Refusal = z.object({ error: z.object({ issues: z.array(z.unknown()) }) })

async function post(name: string, body: object): Promise<readonly unknown[]> {
  const answer = await app.inject({ method: 'POST', path: `/${name}`, body })
  const json: unknown = await answer.json()
  return [answer.status, Refusal.safeParse(json).data?.error.issues ?? json]
}

describe('keywords', () => {
  it.each([
    ['union', { a: 1 }, { a: 1 }],
    ['union', { b: 1 }, { b: 1 }],
    ['kinds', { kind: 'b', b: 1 }, { kind: 'b', b: 1 }],
    ['intersection', { a: 1, b: 2 }, { a: 1, b: 2 }],
    ['mixed', { kind: 'a', a: 1, common: 2 }, { kind: 'a', a: 1, common: 2 }],
    ['preprocessed', { old: 1 }, { a: 1 }],
    ['preprocessed-intersection', { old: 1, b: 2 }, { a: 1, b: 2 }],
    ['preprocessed-union', { b: 1 }, { b: 1 }],
    ['transformed', { a: 1 }, { a: 1 }],
    ['lazy', { a: 1 }, { a: 1 }],
    ['loose-union', { b: 1, x: 2 }, { b: 1, x: 2 }],
    ['loose-intersection', { a: 1, b: 2, x: 3 }, { a: 1, b: 2, x: 3 }],
    ['record', { x: 1 }, { x: 1 }],
    ['caught', { a: 'b' }, { a: 0 }],
    ['caught-union', { b: 1 }, { b: 1 }],
  ])('200: %s accepts %j', async (name, body, given) => {
    expect(await post(name, body)).toEqual([200, given])
  })

  const unknown = (path: string) => [{ path, message: 'is not known here' }]
  it.each([
    ['union', { a: 1, x: 1 }, unknown('x')],
    ['union', { a: 1, b: 1 }, [{ path: '', message: 'Invalid input' }]],
    ['kinds', { kind: 'a', a: 1, b: 1 }, unknown('b')],
    ['kinds', { kind: 'a', a: 1, x: 1 }, unknown('x')],
    ['intersection', { a: 1, b: 2, x: 3 }, unknown('x')],
    ['mixed', { kind: 'a', a: 1, common: 2, x: 3 }, unknown('x')],
    ['preprocessed', { a: 1, x: 2 }, unknown('x')],
    ['preprocessed-intersection', { old: 1, b: 2, x: 3 }, unknown('x')],
    ['transformed', { b: 1, x: 1 }, unknown('x')],
    ['lazy', { a: 1, x: 1 }, unknown('x')],
    ['caught', { a: 1, x: 1 }, unknown('x')],
    ['caught-union', { b: 1, x: 1 }, unknown('x')],
    ['defaulted', { a: 1, x: 1 }, unknown('x')],
    ['prefaulted', { a: 1, x: 1 }, unknown('x')],
    ['required', { a: 1, x: 1 }, unknown('x')],
    ['exactly-optional', { a: 1, x: 1 }, unknown('x')],
    ['branded', { a: 1, x: 1 }, unknown('x')],
    ['decoded', { a: 1, x: 1 }, unknown('x')],
    ['piped', { a: 1, x: 1 }, unknown('x')],
  ])('400: %s refuses %j', async (name, body, issues) => {
    expect(await post(name, body)).toEqual([400, issues])
  })

  it('are closed in the document too, when their names are known', () => {
    const Json = z.object({ schema: z.object({ unevaluatedProperties: z.unknown().optional() }) })
    const Post = z.object({ requestBody: z.object({ content: z.object({ 'application/json': Json }) }) })
    const closed = Object.keys(schemas).filter((name) => {
      const { requestBody } = Post.parse(app.openapi().paths[`/${name}`]?.post)
      return requestBody.content['application/json'].schema.unevaluatedProperties === false
    })
    expect(closed).toEqual(['union', 'kinds', 'intersection', 'mixed', 'transformed', 'caught-union'])
  })
})
