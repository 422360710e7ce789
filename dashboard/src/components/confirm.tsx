import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts, useText } from '../text.ts'
import { Dialog } from './dialog.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { type Action, ActionForm } from './form.tsx'

const words = texts({ en: { cancel: 'Cancel' }, pt: { cancel: 'Cancelar' } })

/** Asks for confirmation of an action that is hard to undo. Shows what will happen, and the error if it fails. */
export function Confirm({
  title,
  isOpen,
  onClose,
  confirm,
  isDangerous = false,
  action,
  isReady = true,
  children,
}: {
  title: string
  isOpen: boolean
  onClose: () => void
  /** The label of the button: the action itself, not "OK". */
  confirm: string
  isDangerous?: boolean
  action: Action
  isReady?: boolean
  children: ReactNode
}) {
  const t = useText(words)
  const close = () => {
    // The error belongs to this attempt, not to the next one.
    action.reset()
    onClose()
  }
  return (
    <Dialog isOpen={isOpen} onClose={close} title={title}>
      <ActionForm
        action={action}
        isReady={isReady}
        buttons={
          <Group justify="flex-end">
            <Button variant="default" onClick={close} disabled={action.isPending}>
              {t.cancel}
            </Button>
            <Button type="submit" loading={action.isPending} disabled={!isReady} {...(isDangerous && { color: 'red' })}>
              {confirm}
            </Button>
          </Group>
        }
      >
        <ErrorBoundary>{children}</ErrorBoundary>
      </ActionForm>
    </Dialog>
  )
}
