import { findAddress as at } from '../../packages/stack/src/status/status-file.ts'
/** The addresses of the services, from the running stack of this checkout or from the environment. */
export const [auth, payments, inventory] = [await at('AUTH_URL'), await at('PAYMENTS_URL'), await at('INVENTORY_URL')]
/** The address of the shop. */
export const shop = `http://localhost:${process.env.SHOP_PORT ?? 8090}`
/** Calls a service, and returns the body of the answer. @throws Error whose `cause` is the status of a refusal */
export async function call(method: string, url: string, headers: object = {}, body?: object): Promise<unknown> {
  const json = { ...headers, 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers: json, body: body ? JSON.stringify(body) : null })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`, { cause: response.status })
  return text === '' ? undefined : JSON.parse(text)
}

/** For `catch`: a refusal with this status becomes undefined. */
export const unless: (status: number) => (error: Error) => undefined = (status) => (error) => {
  if (error.cause !== status) throw error
}
