import type { KeyObject } from 'node:crypto'
import type { Pools } from '@trestle/database/pools.ts'
import { type CreatedApp, toStoredKey } from '../apps/app.ts'
import { callCreateApp } from '../apps/app-repository.ts'

export type CreateAppDeps = { readonly pools: Pools; readonly pepper: KeyObject; readonly generateApiKey: () => string }

/**
 * Creates an app with its first key, for a command of an operator (reference: Registration). Only the caller gets the key,
 * because the service stores only its MAC.
 */
export async function createApp(
  { pools, pepper, generateApiKey }: CreateAppDeps,
  { name }: { readonly name: string | undefined },
): Promise<CreatedApp> {
  const key = generateApiKey()
  return { id: await callCreateApp(pools, { ...toStoredKey(pepper, key), name }), name, key }
}
