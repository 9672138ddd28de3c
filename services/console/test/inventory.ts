import { z } from 'zod'
import type { RunningService } from './services.ts'

const Made = z.object({ data: z.looseObject({ id: z.int() }) })

/** @throws Error unless it answers below 300 */
export async function callInventory(
  inventory: RunningService,
  path: string,
  body?: object,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' = body === undefined ? 'GET' : 'POST',
): Promise<unknown> {
  const answer = await fetch(inventory.url + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** Makes a product. @param attributes JSON text */
export async function createProduct(inventory: RunningService, sku: string, attributes = '{}'): Promise<number> {
  return Made.parse(await callInventory(inventory, '/products', { sku, attributes })).data.id
}

export async function createLocation(inventory: RunningService, code: string, name = code): Promise<number> {
  return Made.parse(await callInventory(inventory, '/locations', { code, name })).data.id
}
