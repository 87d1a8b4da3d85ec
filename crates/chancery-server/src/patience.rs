//! Connections that are cut when the other side does not read.
//!
//! A stream that is full is not asked for more, so nothing in it can notice that its client stands still: the connection does.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// So long a client may not read while there is something for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// A connection whose writes fail when they stand still.
#[derive(Debug)]
pub(crate) struct PatientStream<S> {
    stream: S,
    patience: Duration,
    /// Armed while a write waits.
    stall: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S> PatientStream<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        let stall = Box::pin(tokio::time::sleep(patience));
        Self { stream, patience, stall, waits: false }
    }

    /// What a write came to, or an error when it has waited too long.
    fn judge<T>(
        &mut self,
        done: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.waits = false;
            return done;
        }
        if !self.waits {
            self.waits = true;
            self.stall.as_mut().reset(Instant::now() + self.patience);
        }
        match pin!(&mut self.stall).poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PatientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(done, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(done, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(done, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.judge(done, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Who reads is written to for as long as it likes; who does not is cut.
    #[tokio::test(start_paused = true)]
    async fn a_write_that_stands_still_fails() {
        let (near, far) = tokio::io::duplex(64);
        let mut near = PatientStream::new(near, Duration::from_secs(5));
        near.write_all(&[0; 64]).await.expect("there is room");
        let begun = Instant::now();
        let stuck = near.write_all(&[0; 1]).await.expect_err("nobody reads");
        assert_eq!((stuck.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 5));
        drop(far);
    }
}
