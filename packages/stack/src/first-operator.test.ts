import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { createFirstOperator } from './first-operator.ts'
import { StackFailure } from './stack-failure.ts'

removeFoldersAtEnd()

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** The responses of auth to the creation of the user, and to the operator's sign-in. */
interface Answers {
  readonly user: number
  /** The code of the error, if the user is not created. */
  readonly code?: string
  readonly signIn?: readonly [status: number, body: object]
}

/** Creates a checkout in which auth is a stub that records the arguments of its command. */
async function openCheckout({ user, code, signIn = [400, {}] }: Answers) {
  const root = createFolder()
  mkdirSync(join(root, 'services/auth/src'), { recursive: true })
  const script = `require('node:fs').writeFileSync('called.json', JSON.stringify(process.argv.slice(2)))`
  writeFileSync(join(root, 'services/auth/src/main.ts'), script)
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    request.resume()
    const [status, body] = request.url === '/admin/users' ? [user, { error_code: code }] : signIn
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const status = {
    AUTH_URL: `http://127.0.0.1:${port}`,
    SERVICE_ROLE_KEY: 'service',
    CONSOLE_EMAIL: 'operator@example.com',
    CONSOLE_PASSWORD: 'secret',
  }
  const called = (): unknown => {
    try {
      return JSON.parse(readFileSync(join(root, 'called.json'), 'utf8'))
    } catch {
      return undefined
    }
  }
  return { place: { status, root, dataDirectory: '/data' }, paths, called }
}

/** The response of auth if the user exists already. */
const TAKEN = { user: 422, code: 'email_exists' }
const GIVES_ROLE = ['-c', '/data/auth.env', 'users', 'assign-role', 'operator@example.com', 'admin']

describe('createFirstOperator', () => {
  it('makes a user of auth with the console role admin', async () => {
    const { place, called, paths } = await openCheckout({ user: 200 })
    await createFirstOperator(place)
    expect([paths, called()]).toEqual([['/admin/users'], GIVES_ROLE])
  })

  it('gives the role to a user whom an interrupted start has left without a role', async () => {
    const { place, called } = await openCheckout({ ...TAKEN, signIn: [200, { user: { app_metadata: {} } }] })
    await createFirstOperator(place)
    expect(called()).toEqual(GIVES_ROLE)
  })

  it('leaves an operator with a role as they are', async () => {
    const user = { app_metadata: { console_role: 'admin' } }
    const { place, called } = await openCheckout({ ...TAKEN, signIn: [200, { user }] })
    await createFirstOperator(place)
    expect(called()).toBeUndefined()
  })

  it.each([
    ['with another password', 400, 'invalid_credentials'],
    ['whom somebody has banned', 400, 'user_banned'],
    ['while sign-ins by email are off', 422, 'email_provider_disabled'],
  ])('leaves an operator %s as they are', async (_, status, error_code) => {
    const { place, called } = await openCheckout({ ...TAKEN, signIn: [status, { error_code }] })
    await createFirstOperator(place)
    expect(called()).toBeUndefined()
  })

  it.each([429, 500, 503, 504])(
    'fails where a sign-in with the answer %d says nothing about the role',
    async (status) => {
      const { place, called } = await openCheckout({ ...TAKEN, signIn: [status, {}] })
      await expect(createFirstOperator(place)).rejects.toThrow(
        new StackFailure([`The role of the operator of the console was not checked: auth answered ${status} {}`]),
      )
      expect(called()).toBeUndefined()
    },
  )

  it('sends no request where the console was not started', async () => {
    const { place, paths } = await openCheckout({ user: 200 })
    const { CONSOLE_EMAIL: _email, CONSOLE_PASSWORD: _password, ...status } = place.status
    await createFirstOperator({ ...place, status })
    expect(paths).toEqual([])
  })

  it('says what auth has answered when it makes no user', async () => {
    const { place } = await openCheckout({ user: 500 })
    await expect(createFirstOperator(place)).rejects.toThrow(
      new StackFailure(['The operator of the console was not made: auth answered 500 {}']),
    )
  })

  it('does not take a refused password for a user who exists', async () => {
    const { place, paths } = await openCheckout({ user: 422, code: 'weak_password' })
    await expect(createFirstOperator(place)).rejects.toThrow(
      new StackFailure(['The operator of the console was not made: auth answered 422 {"error_code":"weak_password"}']),
    )
    expect(paths).toEqual(['/admin/users'])
  })
})
