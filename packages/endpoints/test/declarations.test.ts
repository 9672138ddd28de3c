import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { Application, accepts, Controller } from '../src/endpoints.ts'
import { errorBody, issueBody } from './whole-answers.ts'

/** Starts an application with these exports. Returns the application and its warnings. */
async function start(exports: object): Promise<{ readonly app: Application; readonly warnings: readonly string[] }> {
  const warnings: string[] = []
  const log = { warn: (message: string) => void warnings.push(message), error: () => {} }
  return { app: await new Application({ modules: { index: exports }, log }).ready(), warnings }
}

/** Returns a controller with a handler GET and a static member GET. */
function declared(GET: unknown): object {
  return Object.assign(
    class extends Controller {
      GET() {}
    },
    { GET },
  )
}

/** Calls `accepts` without type checks, as JavaScript code can. */
const loose = (spec: unknown): unknown => Reflect.apply(accepts, undefined, [spec])

describe('a wrong declaration', () => {
  it.each([
    [
      'has no z.object',
      { keywords: { a: z.string() } },
      'has the option keywords, which must be an object schema: z.object({ … })',
    ],
    ['has a text for keywords', { keywords: z.string() }, 'has the option keywords, which must be an object schema'],
    ['has a misspelt option', { keyword: 1 }, 'has an option that accepts does not know: keyword'],
    [
      'has the name of a member of every object',
      { constructor: 1 },
      'has an option that accepts does not know: constructor',
    ],
    ['has one schema for a list', { path: z.string() }, 'has the option path, which must be a list of schemas'],
    ['has texts for schemas', { path: ['id'] }, 'has the option path, which must be a list of schemas'],
    ['has no schema for the rest', { rest: String }, 'has the option rest, which must be a schema'],
    ['has no schema of its answer', { returns: { a: 1 } }, 'has the option returns, which must be a schema'],
    [
      'has an unknown use of the body',
      { body: 'json' },
      'has the option body, which must be "keywords", "positionals" or "raw"',
    ],
    ['has a guard alone', { use: () => true }, 'has the option use, which must be a list of guards'],
    ['has a status that is none', { status: '201' }, 'has the option status, which must be a status from 200 to 599'],
    ['has aliases for a list', { aliases: { a: ['b'] } }, 'has the option aliases, which must be an object of names'],
    ['is null', null, 'is declared by a value that is not an object'],
  ])('keeps the application from starting when it %s', async (_name, spec, message) => {
    await expect(start({ X: declared(loose(spec)) })).rejects.toThrow(`index: X.GET ${message}`)
  })

  it.each([
    ['an object', { keywords: z.object({}) }],
    ['a static method', () => {}],
    ['a list with something else in it', [accepts({}), { path: [z.string()] }]],
  ])('keeps the application from starting when it is %s instead', async (_name, member) => {
    const message = 'index: X.GET has a static member of its name that accepts() did not make'
    await expect(start({ X: declared(member) })).rejects.toThrow(message)
  })
})

describe('a class without extends Controller', () => {
  it('causes a warning next to a class that extends Controller', async () => {
    class Good extends Controller {
      GET() {}
    }
    class Forgotten {
      GET() {}
      POST_x() {}
    }
    class Helper {
      get() {}
    }
    const arrow = (): void => {}
    const { app, warnings } = await start({ Good, Forgotten, Helper, arrow, _Hidden: Forgotten })
    expect(app.routes().map(({ pattern }) => pattern)).toEqual(['/good'])
    expect(warnings).toEqual(['index: Forgotten has GET, but does not derive from Controller; nothing answers'])
  })
})

describe('refused keywords', () => {
  it('400: run each check of a value once a request', async () => {
    const judge = vi.fn(() => false)
    class Notes extends Controller {
      static POST = accepts({ keywords: z.object({ text: z.string().refine(judge, 'is bad') }) })
      POST() {}
    }
    const { app } = await start({ Notes })
    const answer = await app.inject({ method: 'POST', path: '/notes', body: { text: 'a' } })
    expect([answer.status, await answer.json()]).toEqual([400, issueBody('text', 'is bad')])
    expect(judge).toHaveBeenCalledTimes(1)
  })
})

describe('POST(body)', () => {
  class Notes extends Controller {
    POST(body: string) {
      return body
    }
    PUT(id: string, text: string) {
      return [id, text]
    }
  }
  const ask = async (app: Application, method: string): Promise<unknown> => {
    const answer = await app.inject({ method, path: '/notes', body: { text: 'a' } })
    return [answer.status, await answer.json()]
  }
  const nothing = (hint = '') => [404, errorBody(404, 'RESOURCE_NOT_FOUND', `There is nothing at this URL${hint}`)]

  it('causes a warning at the start', async () => {
    const { warnings } = await start({ Notes })
    expect(warnings).toEqual(['index: Notes.POST(body) takes a part of the path; the body is POST({ ...body })'])
  })

  it('404: lists the paths of the verb in development', async () => {
    const { app } = await start({ Notes })
    expect(await ask(app, 'POST')).toEqual(nothing('; POST answers /notes/{body}'))
    expect(await ask(app, 'PUT')).toEqual(nothing('; PUT answers /notes/{id}/{text}'))
    expect(await ask(app, 'DELETE')).toEqual(nothing())
  })

  it('404: gives no hint in production', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const { app } = await start({ Notes })
    vi.unstubAllEnvs()
    expect(await ask(app, 'POST')).toEqual(nothing())
  })
})
