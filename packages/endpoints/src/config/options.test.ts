import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { Application, accepts, Controller } from '../endpoints.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('options', () => {
  // ASVS 13.4.2
  it.each([[{ exposeErrors: true }], [{ watch: true }]])('%j is refused in production', (options) => {
    vi.stubEnv('NODE_ENV', 'production')
    expect(() => new Application({ modules: {}, ...options })).toThrow('is for development')
  })

  it.each([
    [{ bodyLimit: Number('1 MiB') }, 'bodyLimit must be a number of at least 0, not NaN'],
    [{ trustProxy: -1 }, 'trustProxy must be a number of at least 0, not -1'],
    [{ requestIdHeader: 'x id' }, 'requestIdHeader: x id is not the name of a header'],
  ])('%j is refused', (options, message) => {
    expect(() => new Application({ modules: {}, ...options })).toThrow(message)
  })

  it('returned values are not checked in production', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    class Wrong extends Controller {
      static GET = accepts({ returns: z.string() })
      GET() {
        return 1
      }
    }
    const app = new Application({ modules: { index: { Wrong } } })
    const answer = await app.inject({ path: '/wrong' })
    expect([answer.status, await answer.json()]).toEqual([200, 1])
  })
})
