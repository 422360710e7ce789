import { styleText } from 'node:util'
import { toPlain, write } from '../print.ts'

const styles = { ok: 'green', fail: 'red', note: 'yellow', dim: 'dim', strong: 'bold' } as const

/** Colours only on a terminal that has them. NO_COLOR turns them off. */
export function paint(style: keyof typeof styles, text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() ? styleText(styles[style], text) : text
}

export type Step = { step: string; detail: string; ms: number }

/**
 * Prints what a command does, line by line, with the time since its start. With `json` it prints nothing: the command
 * prints `steps` at the end.
 */
export function createSteps({ json }: { json?: boolean | undefined }) {
  const startedAt = performance.now()
  const steps: Step[] = []
  return {
    add(step: string, detail: string): void {
      const ms = Math.round(performance.now() - startedAt)
      steps.push({ step, detail, ms })
      if (!json)
        write(`${paint('dim', `${(ms / 1000).toFixed(3).padStart(8)} s`)}  ${step.padEnd(12)}  ${toPlain(detail)}\n`)
    },
    steps,
  }
}

export type Steps = ReturnType<typeof createSteps>
