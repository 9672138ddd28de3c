import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Application, type Args, accepts, Controller, p } from '../src/endpoints.ts'
import { errorBody, issueBody } from './whole-answers.ts'

let checked = 0
const Counted = z.preprocess((value) => {
  checked += 1
  return value
}, z.string('is no text'))

const Lists = z.object({
  texts: z.array(Counted).optional(),
  nested: z.array(z.array(z.string().min(1))).optional(),
  nestedAsync: z.array(z.array(z.string().min(1))).refine(async () => true),
  ints: z.array(p.int({ min: 1, max: 5 })).optional(),
  numbers: z.array(p.number({ min: 1, max: 5 })).optional(),
  bools: z.array(p.bool()).optional(),
  dates: z.array(p.date()).optional(),
  uuids: z.array(p.uuid()).optional(),
  words: z.array(p.oneOf('a', 'b')).optional(),
})

class Long extends Controller {
  static POST = accepts({ keywords: Lists.omit({ nestedAsync: true }) })
  POST(...[{ texts = [] }]: Args<typeof Long.POST>) {
    return texts.length
  }

  static POST_async = accepts({ keywords: Lists.pick({ nestedAsync: true }) })
  POST_async(..._args: Args<typeof Long.POST_async>) {}

  static POST_rest = accepts({ rest: p.int(), body: 'positionals' })
  POST_rest(...[items]: Args<typeof Long.POST_rest>) {
    return items.length
  }

  static POST_defect = accepts({
    keywords: z.object({
      texts: z.array(z.string()).refine(() => {
        throw new RangeError('a defect')
      }),
    }),
  })
  POST_defect(..._args: Args<typeof Long.POST_defect>) {}
}

let app: Application
beforeAll(async () => {
  const log = { warn: () => {}, error: () => {} }
  app = await new Application({ modules: { index: { Long } }, log }).ready()
})

async function post(path: string, body: object): Promise<readonly [number, unknown]> {
  const answer = await app.inject({ method: 'POST', path: `/long${path}`, body })
  return [answer.status, await answer.json()]
}

const many = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

describe('an array of a schema without a maximum', () => {
  it('200: is taken whole when each item is right', async () => {
    expect(await post('', { texts: many(100_000, 'a') })).toEqual([200, 100_000])
  })

  it('400: of up to 1,000 values lists 20 wrong items', async () => {
    const issues = many(20, 'is no text').map((message, i) => ({ path: `texts.${i}`, message }))
    expect(await post('', { texts: many(999, 1) })).toEqual([
      400,
      { statusCode: 400, error: { type: 'VALIDATION_ERROR', description: 'texts.0: is no text', issues } },
    ])
  })

  it('400: of more values is checked up to its first wrong item', async () => {
    checked = 0
    expect(await post('', { texts: ['a', 'b', ...many(200_000, 1)] })).toEqual([
      400,
      issueBody('texts.2', 'is no text'),
    ])
    expect(checked).toBe(3)
  })

  it.each([
    ['ints', 0, 'must be at least 1'],
    ['ints', 6, 'must be at most 5'],
    ['ints', '', 'must be a whole number'],
    ['numbers', 0, 'must be at least 1'],
    ['numbers', 6, 'must be at most 5'],
    ['numbers', '', 'must be a number'],
    ['bools', 2, 'must be true or false'],
    ['dates', '', 'must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z'],
    ['uuids', '', 'must be a UUID'],
    ['words', '', 'must be one of a, b'],
  ])('400: of %s ends at its first %j', async (name, value, message) => {
    expect(await post('', { [name]: many(1_001, value) })).toEqual([400, issueBody(`${name}.0`, message)])
  })

  it.each([
    ['', 'nested'],
    ['/async', 'nestedAsync'],
  ])('400: at %s is refused with one issue when its lists have more than zod can list', async (path, name) => {
    expect(await post(path, { [name]: [many(150_000, '')] })).toEqual([
      400,
      {
        statusCode: 400,
        error: {
          type: 'VALIDATION_ERROR',
          description: 'The request: has too many values that are not accepted',
          issues: [{ path: '', message: 'has too many values that are not accepted' }],
        },
      },
    ])
  })

  it('500: a defect of its schema is no fault of the client', async () => {
    expect(await post('/defect', { texts: many(1_001, '') })).toEqual([
      500,
      errorBody(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    ])
  })
})

describe('positionals of a body', () => {
  it('200: are at most 1,000', async () => {
    expect(await post('/rest', many(1_000, 1))).toEqual([200, 1_000])
  })

  it.each([[1], ['']])('400: are refused unchecked when they are more, such as %j', async (value) => {
    expect(await post('/rest', many(1_001, value))).toEqual([
      400,
      errorBody(400, 'BAD_REQUEST', 'There are more than 1000 positionals'),
    ])
  })
})
