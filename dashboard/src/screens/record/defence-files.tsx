import { Anchor, Button, FileButton, Group, Loader, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { fieldErrorsOf, request, withQuery } from '../../api.ts'
import { ErrorNotice, useSentence } from '../../components/error-notice.tsx'
import { writeFieldError } from '../../field-errors.ts'
import { useFormat } from '../../format.ts'
import { newUuid } from '../../idempotency.ts'
import { useLanguage, useText } from '../../text.ts'
import type { DefenceView } from '../../types.ts'
import { words } from './defence-text.ts'
import { shrinkPhoto } from './shrink-photo.ts'

/** Not `image/*`: an iPhone converts its photos to JPEG only if the types are named. */
const accepted = 'application/pdf,image/png,image/jpeg,image/webp,text/plain'

/** A file that is not stored yet. Its id is the same in each attempt, so that it is stored once. */
type Upload = { id: string; file: File; error: string | null }

type Props = {
  defence: DefenceView
  isEditable: boolean
  onChange: (answer: DefenceView) => Promise<void>
  /** Whether a file is being uploaded. */
  onBusy?: (isBusy: boolean) => void
}

/**
 * The files of a defence: each can be downloaded unless erased. Files can be added and removed until the defence is
 * sent.
 */
export function DefenceFiles({ defence, isEditable, onChange, onBusy = () => {} }: Props) {
  const t = useText(words)
  const format = useFormat()
  const { disputeId, files, limits } = defence
  const { uploads, add, retry, discard } = useUploads({ defence, onChange, onBusy })
  const reset = useRef<() => void>(null)
  const removing = useMutation({
    mutationFn: async (id: string) => await request<DefenceView>('DELETE', `/infraction/${disputeId}/file/${id}`),
    onSuccess: onChange,
  })
  if (!isEditable && files.length === 0) return null
  return (
    <div>
      <Text size="sm" fw={600}>
        {t.files}
      </Text>
      {isEditable && (
        <Text size="xs" c="dimmed">
          {t.filesHint(format.number(limits.files), format.bytes(limits.fileBytes), format.bytes(limits.totalBytes))}
        </Text>
      )}
      <Stack gap={0} mt={4}>
        {files.map(({ id, name, size, isErased }) => (
          <FileRow
            key={id}
            name={
              isErased ? (
                t.erasedFile
              ) : (
                <Anchor href={`/dashboard/api/infraction/${disputeId}/file/${id}`} download inherit>
                  {name}
                </Anchor>
              )
            }
            note={format.bytes(size)}
          >
            {isEditable && (
              <Button
                size="xs"
                variant="subtle"
                color="red"
                aria-label={t.removeFile(name)}
                loading={removing.isPending && removing.variables === id}
                onClick={() => removing.mutate(id)}
              >
                {t.remove}
              </Button>
            )}
          </FileRow>
        ))}
        {uploads.map((upload) => (
          <FileRow key={upload.id} name={upload.file.name} note={format.bytes(upload.file.size)} error={upload.error}>
            {upload.error === null ? (
              <Group gap={6} wrap="nowrap" role="status">
                <Loader size={14} />
                <Text size="xs">{t.uploading}</Text>
              </Group>
            ) : (
              <Group gap={0} wrap="nowrap">
                <Button size="xs" variant="subtle" onClick={() => void retry(upload)}>
                  {t.retry}
                </Button>
                <Button
                  size="xs"
                  variant="subtle"
                  color="red"
                  aria-label={t.discardFile(upload.file.name)}
                  onClick={() => discard(upload.id)}
                >
                  {t.discard}
                </Button>
              </Group>
            )}
          </FileRow>
        ))}
      </Stack>
      {removing.isError && <ErrorNotice error={removing.error} />}
      {isEditable && (
        <FileButton
          multiple
          accept={accepted}
          resetRef={reset}
          onChange={(chosen) => {
            void add(chosen)
            // Otherwise choosing the same file again would be no change.
            reset.current?.()
          }}
        >
          {(props) => (
            <Button {...props} variant="default" size="xs" mt="xs">
              {t.add}
            </Button>
          )}
        </FileButton>
      )}
    </div>
  )
}

function FileRow({
  name,
  note,
  error = null,
  children,
}: {
  name: ReactNode
  note: string
  error?: string | null
  children?: ReactNode
}) {
  return (
    <Group className="row" py={6} justify="space-between" wrap="nowrap" gap="xs">
      <div style={{ minWidth: 0 }}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {note}
        </Text>
        {error !== null && (
          <Text size="xs" c="var(--mantine-color-red-light-color)" role="alert">
            {error}
          </Text>
        )}
      </div>
      {children && <div style={{ flexShrink: 0 }}>{children}</div>}
    </Group>
  )
}

/** Sends the chosen files one after another. Each keeps its own error until it is tried again or discarded. */
function useUploads({ defence, onChange, onBusy }: Required<Omit<Props, 'isEditable'>>) {
  const t = useText(words)
  const sentence = useSentence()
  const format = useFormat()
  const { language } = useLanguage()
  const [uploads, setUploads] = useState<Upload[]>([])
  const busy = useRef(0)
  /** As of the service's last answer: a file that is sent next must still fit. */
  const latest = useRef(defence)
  latest.current = defence
  const set = (id: string, error: string | null) =>
    setUploads((all) => all.map((one) => (one.id === id ? { ...one, error } : one)))
  const discard = (id: string) => setUploads((all) => all.filter((one) => one.id !== id))

  /** Checks the limits before the upload: beyond them the service closes the connection, and its answer may be lost. */
  function findError(size: number): string | null {
    const { files, limits } = latest.current
    const { fileBytes, totalBytes, files: filesMax } = limits
    if (files.length >= filesMax) return writeFieldError({ field: 'file', code: 'too_many', limit: filesMax }, language)
    if (size === 0) return writeFieldError({ field: 'file', code: 'required' }, language)
    if (size > fileBytes)
      return writeFieldError({ field: 'file', code: 'too_large', limit: fileBytes, unit: 'bytes' }, language)
    const total = files.reduce((sum, file) => sum + file.size, size)
    return total > totalBytes ? t.tooLargeTogether(format.bytes(totalBytes)) : null
  }

  async function send({ id, file }: Upload): Promise<void> {
    const { disputeId, limits } = latest.current
    const content = await shrinkPhoto(file, limits.fileBytes)
    const error = findError(content.size)
    if (error !== null) return set(id, error)
    try {
      const path = withQuery(`/infraction/${disputeId}/file/${id}`, { name: file.name })
      const answer = await request<DefenceView>('PUT', path, content)
      latest.current = answer
      discard(id)
      await onChange(answer)
    } catch (error) {
      const [fault] = fieldErrorsOf(error)
      set(id, fault?.field === 'file' ? writeFieldError(fault, language) : sentence(error))
    }
  }

  async function sendAll(all: Upload[]): Promise<void> {
    busy.current += 1
    onBusy(true)
    for (const upload of all) await send(upload)
    busy.current -= 1
    onBusy(busy.current > 0)
  }

  return {
    uploads,
    discard,
    add: async (files: File[]) => {
      const added = files.map((file): Upload => ({ id: newUuid(), file, error: null }))
      setUploads((all) => [...all, ...added])
      await sendAll(added)
    },
    retry: async (upload: Upload) => {
      set(upload.id, null)
      await sendAll([upload])
    },
  }
}
