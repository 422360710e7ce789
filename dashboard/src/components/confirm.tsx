import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts, useText } from '../text.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { ErrorNotice } from './error-notice.tsx'

const words = texts({ en: { cancel: 'Cancel', close: 'Close' }, pt: { cancel: 'Cancelar', close: 'Fechar' } })

/** Asks for confirmation of an action that is hard to undo. Shows what will happen, and the error if it fails. */
export function Confirm({
  title,
  isOpen,
  onClose,
  confirm,
  isDangerous = false,
  isPending,
  isReady = true,
  error,
  onConfirm,
  children,
}: {
  title: string
  isOpen: boolean
  onClose: () => void
  /** The label of the button: the action itself, not "OK". */
  confirm: string
  isDangerous?: boolean
  isPending: boolean
  isReady?: boolean
  error?: unknown
  onConfirm: () => void
  children: ReactNode
}) {
  const t = useText(words)
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={title}
      closeOnClickOutside={!isPending}
      closeButtonProps={{ 'aria-label': t.close }}
      centered
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady && !isPending) onConfirm()
        }}
      >
        <Stack>
          <ErrorBoundary>{children}</ErrorBoundary>
          {error !== undefined && error !== null && <ErrorNotice error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose} disabled={isPending}>
              {t.cancel}
            </Button>
            <Button type="submit" loading={isPending} disabled={!isReady} {...(isDangerous && { color: 'red' })}>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
