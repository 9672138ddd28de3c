import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginAsync, FastifyServerOptions } from 'fastify'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import {
  Application,
  type Args,
  accepts,
  Controller,
  type ControllerApplication,
  type fastifyOptions,
  type Guard,
  p,
} from '../src/endpoints.ts'

// The TypeScript compiler tests this file. Vitest only shows that it runs.
describe('Args', () => {
  it('are the values of path, then the rest as a list, then the keywords', () => {
    const plain = accepts({})
    expectTypeOf<Args<typeof plain>['length']>().toEqualTypeOf<1>()

    const path = accepts({ path: [p.int(), z.string().optional()] })
    expectTypeOf<Args<typeof path>[0]>().toEqualTypeOf<number>()
    expectTypeOf<Args<typeof path>[1]>().toEqualTypeOf<string | undefined>()

    const all = accepts({
      path: [p.uuid()],
      rest: p.bool(),
      keywords: z.object({
        limit: p.int().default(5),
        when: p.date().optional(),
        kind: p.oneOf('a', 'b'),
        tags: p.list(p.number()),
      }),
    })
    expectTypeOf<Args<typeof all>>().toEqualTypeOf<
      [string, boolean[], { limit: number; when?: Date | undefined; kind: 'a' | 'b'; tags: number[] }]
    >()
  })

  it('of a list are those of one declaration or the other, distinguished by their number', () => {
    const list = [accepts({ keywords: z.object({ q: z.string() }) }), accepts({ path: [p.int()] })]
    expectTypeOf<Args<typeof list>['length']>().toEqualTypeOf<1 | 2>()
    const first = (...args: Args<typeof list>) => (args.length === 1 ? args[0].q : args[0])
    expectTypeOf(first).returns.toEqualTypeOf<string | number>()
  })

  it('make wrong handlers and calls fail', () => {
    class Items extends Controller {
      static GET = accepts({ path: [p.int()], keywords: z.object({ q: z.string() }) })
      GET(...[id, { q }]: Args<typeof Items.GET>) {
        // @ts-expect-error a number is not a text
        const text: string = id
        // @ts-expect-error the keyword is unknown
        const [, { r }] = [id, { q }] as Args<typeof Items.GET>
        return [text, q, r]
      }
    }
    const get = Items.prototype.GET
    expectTypeOf(get).parameters.toEqualTypeOf<[number, { q: string }]>()
    // @ts-expect-error too few arguments
    expectTypeOf(get).toBeCallableWith(1)
  })

  it('do not compile with anything but schemas and the known uses of a body', () => {
    // @ts-expect-error a text is not a schema
    accepts({ path: ['int'] })
    // @ts-expect-error this use of a body is unknown
    accepts({ body: 'everything' })
  })
})

describe('a controller', () => {
  it('knows the context of its application', () => {
    class WithContext extends Controller<{ readonly word: string }> {
      GET() {
        return this.application.context.word
      }
    }
    expectTypeOf<WithContext['application']>().toEqualTypeOf<ControllerApplication<{ readonly word: string }>>()
    expectTypeOf(new Application({ context: { word: 'a' } }).context).toEqualTypeOf<{ word: string }>()
  })

  it('accepts plain functions as guards', () => {
    expectTypeOf(() => false).toExtend<Guard>()
    expectTypeOf(async () => {}).toExtend<Guard>()
  })
})

describe('an application', () => {
  it('fits the types of its servers', () => {
    expectTypeOf<Application['listener']>().toExtend<(req: IncomingMessage, res: ServerResponse) => void>()
    expectTypeOf<Application['fetch']>().toExtend<(request: Request) => Promise<Response>>()
    expectTypeOf<Application['fastify']>().toExtend<FastifyPluginAsync>()
    expectTypeOf<ReturnType<typeof fastifyOptions>>().toExtend<FastifyServerOptions>()
  })
})
