import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'

/** One program of the check. */
export interface Step {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

export interface StepResult {
  readonly name: string
  /** The program ended by itself with status 0. */
  readonly passed: boolean
  readonly seconds: number
  /** Standard output and error as they came; empty when they were inherited. */
  readonly output: string
}

/**
 * Runs a program to its end; one whose output is collected gives way to those that speak at once: tests have time limits. Never
 * throws: a program that cannot be started has failed, with the reason as output.
 */
export function runStep(step: Step, cwd: string, output: 'collect' | 'inherit' = 'collect'): Promise<StepResult> {
  const { name, command, args } = step
  const started = performance.now()
  const out = output === 'inherit' ? 'inherit' : 'pipe'
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', out, out] })
    if (output === 'collect' && child.pid !== undefined)
      setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    const chunks: Buffer[] = []
    const keep = (chunk: Buffer): void => void chunks.push(chunk)
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    const finish = (passed: boolean): void => {
      const seconds = (performance.now() - started) / 1000
      resolve({ name, passed, seconds, output: Buffer.concat(chunks).toString() })
    }
    child.on('error', (error) => {
      chunks.push(Buffer.from(`${error.message}\n`))
      finish(false)
    })
    child.on('close', (status) => finish(status === 0))
  })
}
