import type { Allowance } from './rate-limits.ts'

/** Counts several messages, or none where one is refused. @returns the allowance of all */
export async function takeAll(takes: readonly (() => Promise<Allowance>)[]): Promise<Allowance> {
  const taken: Allowance[] = []
  const giveBack = async () => {
    for (const allowance of taken) await allowance.giveBack()
  }
  try {
    for (const take of takes) taken.push(await take())
  } catch (error) {
    await giveBack()
    throw error
  }
  return { giveBack }
}
