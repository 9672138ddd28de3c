import type { Command } from 'commander'

/**
 * Adds `completion <shell>`, which prints a script for the shell, and the hidden command `complete`, which the script asks what
 * may follow.
 */
export async function addCompletion(program: Command): Promise<void> {
  const { default: tab } = await import('@bomb.sh/tab/commander')
  tab(program, { completionCommandName: 'completion' })
}
